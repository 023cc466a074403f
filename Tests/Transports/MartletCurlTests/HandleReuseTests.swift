@_spi(Measuring) import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

/// Requests with and without reuse of libcurl's handles.
@Suite(.timeLimit(.minutes(5)))
struct HandleReuseTests {
  private func session(_ reuses: Bool, _ change: (inout CurlConfiguration) -> Void = { _ in }) -> HTTPSession {
    var curl = CurlConfiguration()
    curl.reusesHandles = reuses
    change(&curl)
    var configuration = SessionConfiguration()
    configuration.retry = .never
    configuration.cache = nil
    return HTTPSession(transport: CurlTransport(curl), configuration: configuration)
  }

  @Test(arguments: [true, false])
  func requestsAreIndependent(_ reuses: Bool) async throws {
    let server = try LoopbackServer { request in
      request.path == "/" ? .redirect(to: "/there").with("X-A", "b") : .text(request.target).with("X-C", "d")
    }
    let session = session(reuses)
    for _ in 0..<20 {
      let (data, response) = try await session.data(for: HTTPRequest(.get, server.url("/")))
      #expect(data == Data("/there".utf8))
      #expect(response.head.fields["X-A"] == nil)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          let (data, _) = try await session.data(for: HTTPRequest(.get, server.url("/\(number)")))
          #expect(data == Data("/\(number)".utf8))
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(arguments: [FrameServer.Fault.idleData, .badSettings, .end], [true, false])
  func aPostOverAFailingConnectionIsSentOnce(_ fault: FrameServer.Fault, reuses: Bool) async throws {
    let server = try FrameServer(fault)
    let session = session(reuses) { $0.tls.authorities = server.authority.certificate }
    let post = HTTPRequest(.post, server.url, body: .data(Data("order".utf8)))
    #expect(try await session.data(for: post).0 == Data("1".utf8))

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: post) }

    #expect(error?.isUnsent == false)
    #expect(error?.delivery != .refused)
    #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Data("3".utf8))
  }
}
