import MartletEngine
import MartletSemantics
import TestServers
import Testing

@testable import MartletSockets

/// Connections that end after every byte of a response, by FIN and by RST. A cut response is never accepted as complete
/// (RFC 9112 §8, RFC 9113 §8.1), and a response byte by byte is the same as one at once.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct CutConnectionTests {
  /// A response with the body `hello, world`.
  enum Sent: String, CaseIterable, CustomTestStringConvertible {
    case length, chunked, untilClose, http2

    var testDescription: String { rawValue }

    private static let head = "HTTP/1.1 200 OK\r\nX-A: b\r\n"

    var bytes: [UInt8] {
      switch self {
      case .length: Array((Self.head + "Content-Length: 12\r\n\r\nhello, world").utf8)
      case .chunked:
        Array(
          (Self.head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nX-B: c\r\n\r\n").utf8)
      case .untilClose: Array((Self.head + "\r\nhello, world").utf8)
      case .http2:
        Frames.headers("200", [("x-a", "b")]) + Frames.data("hello") + Frames.data(", world", ends: true)
      }
    }

    /// The number of bytes after which a part is a valid response: if a body has no length, and the end of the
    /// connection without TLS can be that of the body (RFC 9112 §6.3 rule 8).
    var shortest: Int { self == .untilClose ? Self.head.utf8.count + 2 : bytes.count }
  }

  @Test(arguments: Sent.allCases, [false, true])
  func responseThatIsCutOffIsNeverWhole(_ sent: Sent, tls: Bool) async throws {
    let bytes = sent.bytes
    let server = try CutServer(bytes, isHTTP2: sent == .http2, tls: tls)
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.authority.certificate
    if sent == .http2 { connection.versions = .http2PriorKnowledge }
    let transport = SocketTransport(connection)
    let count = CutServer.networkCount(of: bytes.count, tls: tls)
    let received = CutServer.receivedCount(of: tls ? bytes.count : sent.shortest, tls: tls)
    for cut in 0...count {
      for isReset in [false, true] {
        let result = await Self.ask(transport, server.url)
        let mayEnd =
          sent != .untilClose ? cut >= received : tls ? cut == count : cut >= received && !isReset
        let expected = tls || sent != .untilClose ? "hello, world" : "hello, world".prefix(max(0, cut - received))
        switch result {
        case .success(let body): #expect(mayEnd && body == expected, "\(cut) of \(count): \(body)")
        case .failure(let error):
          #expect(!mayEnd && error.kind == .connectionLost, "\(cut) of \(count), reset: \(isReset): \(error)")
          let isWaiting = tls ? cut < received : cut < Self.headCount(of: sent)
          #expect(error.phase == (isWaiting ? .waiting : .receiving), "\(cut) of \(count): \(error)")
        }
      }
    }
    // byte by byte, then at once
    for _ in 0..<2 { #expect(try await Self.ask(transport, server.url).get() == "hello, world") }
  }

  private static func headCount(of sent: Sent) -> Int {
    sent == .http2
      ? Frames.headers("200", [("x-a", "b")]).count : sent.bytes.split(separator: [13, 10, 13, 10])[0].count + 4
  }

  private static func ask(_ transport: SocketTransport, _ url: URL) async -> Result<String, HTTPError> {
    var request = HTTPRequest(.get, url)
    (request.options.responseTimeout, request.options.idleTimeout) = (.seconds(120), .seconds(120))
    do {
      let response = try await transport.send(request, in: Call())
      let body = try await response.body.collect(upTo: 1000)
      #expect(response.status == .ok && response.fields["X-A"] == "b")
      return .success(String(decoding: body, as: UTF8.self))
    } catch {
      return .failure(HTTPError(wrapping: error))
    }
  }
}
