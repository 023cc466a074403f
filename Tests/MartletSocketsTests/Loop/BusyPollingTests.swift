#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// When a loop looks for work before it sleeps.
struct BusyPollingTests {
  @Test func aWaitIsPolledForIfTheLastOfItsSortWasShort() {
    var polling = BusyPolling(limit: 200, processors: 2)
    #expect(polling.isWorthIt(for: .request) && polling.isWorthIt(for: .response))
    polling.note(200, of: .response)
    #expect(polling.isWorthIt(for: .request) && !polling.isWorthIt(for: .response))
    polling.note(199, of: .response)
    polling.note(5000, of: .request)
    #expect(!polling.isWorthIt(for: .request) && polling.isWorthIt(for: .response))
  }

  @Test(arguments: [(limit: 0, processors: 8), (limit: 200, processors: 1)])
  func nothingIsPolledForWithoutTimeOrOnOneProcessor(limit: UInt64, processors: Int) {
    let polling = BusyPolling(limit: limit, processors: processors)
    #expect(!polling.isWorthIt(for: .request) && !polling.isWorthIt(for: .response))
  }

  @Test(arguments: [Duration.nanoseconds(-1), .milliseconds(11)])
  func aTimeOutsideOfItsLimitsIsAnError(_ time: Duration) async throws {
    var options = SocketTransport.Options()
    options.busyPolling = time
    let session = HTTPSession(transport: SocketTransport(options: options))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await session.data(for: HTTPRequest(.get, "http://127.0.0.1:9/"))
    }
    #expect(error?.kind == .invalidRequest && error?.message.contains("busyPolling") == true)
  }

  /// With and without polling, a thousand requests one after another are answered in order.
  @Test(arguments: [Duration.zero, .microseconds(200), .milliseconds(10)])
  func requestsOneAfterAnotherGetTheirResponses(_ time: Duration) async throws {
    let server = try LoopbackServer { request in .text(request.path) }
    var options = SocketTransport.Options()
    options.busyPolling = time
    let session = HTTPSession(transport: SocketTransport(options: options))
    for number in 0..<1000 {
      let (data, _) = try await session.data(for: HTTPRequest(.get, server.url.appending(path: "\(number)")))
      #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
    }
  }
}
#endif
