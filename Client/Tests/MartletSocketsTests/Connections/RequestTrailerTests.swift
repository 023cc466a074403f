#if os(Linux)
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Trailers of a request's body over HTTP/1.1 (RFC 9112 §7.1.2) and HTTP/2 (RFC 9113 §8.1).
@Suite(.timeLimit(.minutes(5)))
struct RequestTrailerTests {
  private func body(_ pieces: [String], length: Int64? = nil, _ trailers: HTTPFields) -> RequestBody {
    .stream(length: length, trailers: { trailers }) {
      AsyncStream<Data> { chunks in
        for piece in pieces { chunks.yield(Data(piece.utf8)) }
        chunks.finish()
      }
    }
  }

  @Test(
    arguments: [([], nil), ([], 0), (["hello"], nil), (["hello"], 5), (["hel", "lo"], 5)] as [([String], Int64?)],
    [[:], ["X-Digest": "a=b", "X-Empty": ""]] as [HTTPFields])
  func theyFollowTheChunks(_ row: ([String], Int64?), trailers: HTTPFields) async throws {
    let server = try LoopbackServer { request in .text(request.text) }
    let transport = SocketTransport()
    for _ in 0..<2 {
      let request = HTTPRequest(.put, server.url, body: body(row.0, length: row.1, trailers))
      let response = try await transport.send(request, in: Call())
      #expect(try await response.body.collect(upTo: 100) == Data(row.0.joined().utf8))
    }
    #expect(server.requests.map(\.trailers) == [trailers, trailers])
    #expect(server.requests.map(\.connection) == [1, 1])
    #expect(server.requests[0].fields[.transferEncoding] == "chunked")
  }

  @Test func aLongBodyIsFollowedByTrailers() async throws {
    let server = try LoopbackServer { request in .text("\(request.body.count)") }
    let request = HTTPRequest(.put, server.url, body: body([String(repeating: "a", count: 3 << 20)], ["X-A": "b"]))
    let response = try await SocketTransport().send(request, in: Call())
    #expect(try await response.body.collect(upTo: 100) == Data("\(3 << 20)".utf8))
    #expect(server.requests[0].trailers == ["X-A": "b"])
  }

  /// HEADERS are 1, DATA are 0: those with the trailers end the stream.
  @Test(arguments: [(["hello"], nil), (["hello"], 5), ([], nil), ([], 0)] as [([String], Int64?)])
  func theyAreAFrameOfTheirOwnOverHTTP2(_ pieces: [String], length: Int64?) async throws {
    let server = try FrameServer(.kinds, tls: false)
    var configuration = ConnectionConfiguration()
    configuration.versions = .http2PriorKnowledge
    let transport = SocketTransport(configuration)
    for trailers in [[:], ["X-Digest": "a=b"]] as [HTTPFields] {
      let request = HTTPRequest(.put, server.url, body: body(pieces, length: length, trailers))
      let response = try await transport.send(request, in: Call())
      let text = String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
      #expect(text.split(separator: " ").first == "1")
      #expect(text.hasSuffix(" 1") == !trailers.isEmpty)
      #expect(text.contains(" 0") || pieces.isEmpty)
    }
  }

  @Test func trailersThatAreTooLargeFailTheRequestOverHTTP2() async throws {
    let server = try FrameServer(.kinds, tls: false)
    var configuration = ConnectionConfiguration()
    configuration.versions = .http2PriorKnowledge
    let transport = SocketTransport(configuration)
    let large: HTTPFields = ["X-Large": String(repeating: "a", count: HTTP2RequestHead.listLimit)]
    let error = await #expect(throws: HTTPError.self) {
      try await transport.send(HTTPRequest(.put, server.url, body: body(["hello"], large)), in: Call())
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("trailers") == true)
    let response = try await transport.send(
      HTTPRequest(.put, server.url, body: body(["hello"], ["X-A": "b"])), in: Call())
    #expect(response.status == .ok)
  }

  @Test(arguments: [ConnectionConfiguration.Versions.http1, .http2PriorKnowledge])
  func aForbiddenTrailerFailsTheRequestBeforeItsEnd(_ versions: ConnectionConfiguration.Versions) async throws {
    let server = try LoopbackServer { request in .text(request.text) }
    let frames = try FrameServer(.kinds, tls: false)
    var configuration = ConnectionConfiguration()
    configuration.versions = versions
    let url = versions == .http1 ? server.url : frames.url
    let request = HTTPRequest(.put, url, body: body(["hello"], ["Content-Length": "5"]))
    let error = await #expect(throws: HTTPError.self) {
      try await SocketTransport(configuration).send(request, in: Call())
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("Content-Length") == true)
    #expect(server.requests.isEmpty)
  }
}
#endif
