import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("An observer's own request", .timeLimit(.minutes(5)))
struct InternalRequestTests {
  /// Fetches a token through the session that it observes, and marks that request.
  private final class Fetcher: SAPURLSessionObserving, Sendable {
    let token: URL
    init(token: URL) { self.token = token }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      guard task.context["isFetch"] == nil else { return completionHandler(.allow(request)) }
      let fetch = session.dataTask(with: token) { data, _, error in
        guard let data else { return completionHandler(.cancel(error ?? TestFailure(name: "no token"))) }
        var request = request
        request.setValue(String(decoding: data, as: UTF8.self), forHTTPHeaderField: "X-Token")
        completionHandler(.allow(request))
      }
      fetch.context["isFetch"] = true
      fetch.resume()
    }
  }

  @Test func theSessionsObserversTakePartInIt() async throws {
    let server = try LoopbackServer { request in
      request.path == "/token" ? .text("t-\(request.fields["X-Tags"] ?? "")") : .text(request.fields["X-Token"] ?? "")
    }
    let session = SAPURLSession.uncached(tagging("tag"), Fetcher(token: server.url("/token")))

    #expect(await session.outcome(of: server.url("/")).text == "t-tag")
    #expect(server.requests.map(\.path) == ["/token", "/"])
  }

  @Test func theDelegateIsToldOfItsEndToo() async throws {
    let service = try MobileServices()
    let delegate = DelegateProbe()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    session.register(CSRFTokenObserver(rootUrl: service.url))

    #expect(await session.outcome(of: URLRequest("POST", service.url("/backend/Orders"), body: "{}")).status == 201)

    await withCheckedContinuation { told in session.delegateQueue.addOperation { told.resume() } }
    #expect(delegate.log.filter { $0 == "create" }.count == 2)
    #expect(delegate.log.filter { $0 == "complete" }.count == 2)
  }

  @Test func cancellingItEndsItAndStartsNothing() async throws {
    let service = try MobileServices()
    let probe = ObserverProbe { probe in
      probe.onSend = { task, request in
        if request.httpMethod == "HEAD" { task.cancel() }
        return .allow(request)
      }
    }
    let session = SAPURLSession.uncached(CSRFTokenObserver(rootUrl: service.url), probe)

    #expect(await session.outcome(of: URLRequest("POST", service.url("/backend/Orders"), body: "{}")).status == 403)

    #expect(!service.requests.contains { $0.method == .head })
    #expect(probe.log.filter { $0 == "failed" }.count == 2)  // two fetches, and the request itself came to its end
  }
}
