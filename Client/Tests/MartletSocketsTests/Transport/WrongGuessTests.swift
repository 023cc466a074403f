import Foundation
import MartletEngine
import MartletSemantics
@testable import MartletSockets
import TestServers
import Testing

/// The head of a request is made for the version of HTTP that its server last chose. The server may choose another one.
@Suite(.timeLimit(.minutes(5)))
struct WrongGuessTests {
  private let nginx: Nginx

  init() throws { nginx = try Nginx.shared.get() }

  private func transport() -> SocketTransport {
    var configuration = ConnectionConfiguration()
    configuration.tls.authorities = nginx.authority.certificate
    return SocketTransport(configuration)
  }

  @Test(arguments: [HTTPMethod.get, .put])
  func aServerThatNowChoosesHTTP2GetsItsHead(method: HTTPMethod) async throws {
    let transport = transport()
    let url = nginx.tls(method == .get ? "/protocol" : "/put")
    let origin = try #require(Origin(url))
    try transport.thread.get().servers.choosingHTTP1.insert(origin)

    let body: RequestBody = method == .put ? .data(Data(count: 100_000)) : .empty
    let (data, response) = try await HTTPSession(transport: transport)
      .data(for: HTTPRequest(method, url, fields: ["x-test": "a"], body: body))

    #expect(response.head.version == .http2)
    if method == .get { #expect(String(decoding: data, as: UTF8.self).hasPrefix("HTTP/2.0")) }
    #expect(response.status == .ok)
    #expect(try !transport.thread.get().servers.choosingHTTP1.contains(origin))
  }

  @Test func aRequestThatCannotBeSentOverHTTP2FailsAlone() async throws {
    let transport = transport()
    let session = HTTPSession(transport: transport)
    let origin = try #require(Origin(nginx.tls("/")))
    try transport.thread.get().servers.choosingHTTP1.insert(origin)
    let tooLong = String(repeating: "v", count: HTTP2RequestHead.listLimit)

    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, nginx.tls("/protocol"), fields: ["x-test": tooLong]))
    }
    #expect(error?.kind == .invalidRequest)

    let (data, _) = try await session.data(for: HTTPRequest(.get, nginx.tls("/protocol")))
    #expect(String(decoding: data, as: UTF8.self).hasPrefix("HTTP/2.0"))
  }
}
