import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// An invalid message is an error of the response, and no part of it is used (RFC 9112).
@Suite(.timeLimit(.minutes(5)))
struct InvalidResponseTests {
  private let session = HTTPSession(transport: SocketTransport())

  private struct Unexpected: Error {}

  private func failure(_ reply: Reply, _ change: (inout HTTPRequest) -> Void = { _ in }) async throws -> HTTPError {
    let server = try LoopbackServer { _ in reply }
    var request = HTTPRequest(.get, server.url)
    change(&request)
    do throws(HTTPError) {
      _ = try await session.data(for: request)
    } catch { return error }
    throw Unexpected()
  }

  /// The line follows a long head on another connection: libcurl before 8.1.0 wrote it to memory of that head.
  @Test func aFoldedFirstFieldDoesNotCrashTheProcess() async throws {
    await #expect(processExitsWith: .success) {
      let server = try LoopbackServer { request in
        if request.path == "/" { return .redirect(to: "/there").with("X-Filler", String(repeating: "a", count: 300)) }
        return .raw("HTTP/1.1 200 OK\r\n X-A: \(String(repeating: "b", count: 4000))\r\nContent-Length: 0\r\n\r\n")
      }
      let session = HTTPSession(transport: SocketTransport())
      for _ in 0..<30 {
        let error = await #expect(throws: HTTPError.self) {
          _ = try await session.data(for: HTTPRequest(.get, server.url("/")))
        }
        #expect(error?.kind == .protocolViolation)
      }
    }
  }

  @Test func aLineThatLooksLikeAStatusLineDoesNotRestartTheHead() async throws {
    let server = try LoopbackServer { _ in
      .raw(
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nHTTP/1.1 201 Cre:ated\r\nSet-Cookie: c=d\r\nContent-Length: 0\r\n\r\n")
    }
    let jar = CookieJar()
    var configuration = SessionConfiguration()
    configuration.cookies = jar
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    let error = await #expect(throws: HTTPError.self) {
      _ = try await session.data(for: HTTPRequest(.get, server.url))
    }

    #expect(error?.kind == .protocolViolation)
    #expect(error?.response == nil)
    #expect(try await jar.allCookies().isEmpty)
  }

  @Test(arguments: [
    "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/a.b 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200OK\r\nContent-Length: 0\r\n\r\n", "Http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/2 200 \r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nContent-Length: 4, 10\r\n\r\nfour", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
    "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA\rB: c\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nno colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n A: b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n: b\r\n\r\n",
    "HTTP/1.1 103 Early\r\nno colon\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nA\u{0}: b\r\n\r\n",
  ])
  func anInvalidResponseIsAProtocolViolation(_ message: String) async throws {
    let error = try await failure(.raw(message))

    #expect(error.kind == .protocolViolation)
    #expect([.waiting, .receiving].contains(error.phase))
    #expect(error.message.contains("127.0.0.1"))
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nfour", "HTTP/1.1 200\r\nContent-Length: 004\r\n\r\nfour",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nfour", "HTTP/1.0 200 OK\r\n\r\nfour",
    "HTTP/1.1 200 OK\nContent-Length: 4\n\nfour",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
    "HTTP/1.1 103 A\r\nB: c\r\n\r\nHTTP/1.1 199 A\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 4\r\n\r\nfour",
  ])
  func whatTheRFCAllowsIsAccepted(_ message: String) async throws {
    let server = try LoopbackServer { _ in .raw(message) }
    #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Data("four".utf8))
  }

  @Test(arguments: [
    Named("a long value", "HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 2 << 20)),
    Named("a long status line", "HTTP/1.1 " + String(repeating: "2", count: 2 << 20)),
    Named("many fields", "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 200_000)),
    Named("many heads", String(repeating: "HTTP/1.1 103 Early\r\nA: b\r\n\r\n", count: 50_000)),
    Named("a long value of a trailer", chunkedEnd + "A: " + String(repeating: "a", count: 1 << 20)),
    Named("many trailers", chunkedEnd + String(repeating: "A: b\r\n", count: 200_000)),
  ])
  func anEndlessHeadIsTooLarge(_ message: Named<String>) async throws {
    #expect(try await failure(.raw(message.value)).kind == .headTooLarge)
  }

  private static let chunkedEnd = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"

  /// The timeout does not start again with each part of the head.
  @Test(arguments: [
    Named(
      "200 fields",
      "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 200) + "Content-Length: 0\r\n\r\n"),
    Named(
      "200 heads",
      String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 200) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
  ])
  func aHeadSentByteByByteIsAResponseTimeout(_ message: Named<String>) async throws {
    let error = try await failure(.raw(message.value).dripped(7, every: .milliseconds(50))) {
      $0.options.responseTimeout = .milliseconds(400)
    }

    #expect(error.kind == .responseTimeout)
  }
}
