import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Dispositions", .timeLimit(.minutes(5)))
struct DispositionTests {
  private let failure = TestFailure(name: "exactly this")

  /// Every place where an observer can fail a task with its own error.
  enum Place: CaseIterable {
    case delayed, send, response, data, redirect, challenge, stream, cache, complete
  }

  @Test(arguments: Place.allCases) func cancelFailsTheTaskWithExactlyThatError(place: Place) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/redirect": .redirect(to: "/there")
      case "/challenge": .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="r""#])
      default: .text("hello").with(.cacheControl, "max-age=60")
      }
    }
    let failure = failure
    let probe = ObserverProbe { probe in
      switch place {
      case .delayed: probe.onDelayed = { _ in .cancel(failure) }
      case .send: probe.onSend = { _, _ in .cancel(failure) }
      case .response: probe.onResponse = { _, _ in .cancel(failure) }
      case .data: probe.onData = { _ in .cancel(failure) }
      case .redirect: probe.onRedirect = { _, _ in .cancel(failure) }
      case .challenge: probe.onChallenge = { _ in .cancel(failure) }
      case .stream: probe.onStream = { .cancel(failure) }
      case .cache: probe.onCache = { _ in .cancel(failure) }
      case .complete: break
      }
    }
    if place == .complete { probe.onComplete = { _ in .cancel(failure) } }
    let delegate = DelegateProbe()
    let session = SAPURLSession(configuration: .ephemeral, delegate: delegate)
    session.register(probe)
    let path = place == .redirect ? "/redirect" : place == .challenge ? "/challenge" : "/"
    let request = URLRequest(place == .stream ? "PUT" : "GET", server.url(path))

    let outcome: Outcome = await withCheckedContinuation { continuation in
      let handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = {
        continuation.resume(returning: Outcome(data: $0, response: $1, error: $2))
      }
      let task =
        place == .stream
        ? session.uploadTask(
          withStreamedRequest: request, needNewBodyStream: { InputStream(data: Data("x".utf8)) },
          completionHandler: handler) : session.dataTask(with: request, completionHandler: handler)
      if place == .delayed { task.earliestBeginDate = .now }
      task.resume()
    }

    #expect(outcome.error as? TestFailure == failure)
    #expect(outcome.data == nil)
    if place == .complete { #expect(!delegate.log.contains { $0 == "failed" || $0 == "complete" }) }
  }

  @Test func respondAnswersWithoutTheNetwork() async throws {
    let server = try LoopbackServer { _ in .text("from the network") }
    let made = try #require(
      HTTPURLResponse(
        url: server.url("/"), statusCode: 418, httpVersion: nil, headerFields: ["Cache-Control": "max-age=60"]))
    let first = ObserverProbe { $0.onSend = { _, _ in .respond(made, Data("made up".utf8)) } }
    let second = ObserverProbe()
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(first)
    session.register(second)

    let outcome = await session.outcome(of: server.url("/"))

    #expect(outcome.text == "made up")
    #expect(outcome.status == 418)
    #expect(second.log == ["create", "response 418", "data made up", "complete"])
    #expect(server.requests.isEmpty)
    session.unregister(first)
    #expect(await session.outcome(of: server.url("/")).text == "from the network")
  }

  @Test func becomeDownloadWritesTheBodyToAFile() async throws {
    let server = try LoopbackServer { _ in .text("a large body") }
    let probe = ObserverProbe { $0.onResponse = { _, _ in .becomeDownload } }
    let session = SAPURLSession.uncached(probe)
    let kept = Mutex<SAPURLSessionTask?>(nil)

    let (data, content): (Data?, Data?) = await withCheckedContinuation { continuation in
      let task = session.dataTask(with: server.url("/")) { data, _, _ in
        let location = kept.withLock { $0?.downloadLocation }
        continuation.resume(returning: (data, location.flatMap { try? Data(contentsOf: $0) }))
      }
      kept.withLock { $0 = task }
      task.resume()
    }

    #expect(data == nil)
    #expect(content == Data("a large body".utf8))
    #expect(!probe.log.contains { $0.hasPrefix("data") })
    let location = try #require(kept.withLock { $0?.downloadLocation })
    await session.callbacksHaveReturned()
    #expect(!FileManager.default.fileExists(atPath: location.path))
  }

  @Test func aRefusedRedirectIsTheResponse() async throws {
    let server = try LoopbackServer { _ in .redirect(to: "/there") }
    let probe = ObserverProbe { $0.onRedirect = { _, _ in .refuse } }

    let outcome = await SAPURLSession.uncached(probe).outcome(of: server.url("/"))

    #expect(outcome.status == 302)
    #expect(server.requests.count == 1)
  }

  @Test func aRedirectIsFollowedWithTheChangedRequest() async throws {
    let server = try LoopbackServer { request in
      request.path == "/here" ? .redirect(to: "/there") : .text("\(request.path) \(request.fields["X-Hop"] ?? "-")")
    }
    let other = server.url("/elsewhere")
    let probe = ObserverProbe { probe in
      probe.onRedirect = { response, request in
        #expect(response.statusCode == 302)
        #expect(request.url?.path == "/there")
        var request = request
        request.url = other
        request.setValue("yes", forHTTPHeaderField: "X-Hop")
        return .allow(request)
      }
    }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/here")).text == "/elsewhere yes")
  }

  @Test func whatAnObserverDoesNotWantStoredIsNotStored() async throws {
    let server = try LoopbackServer { _ in .text("hello").with(.cacheControl, "max-age=60") }
    let probe = ObserverProbe { $0.onCache = { _ in .doNotCache } }
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(probe)

    for _ in 0..<2 { #expect(await session.outcome(of: server.url("/")).text == "hello") }

    #expect(server.requests.count == 2)
    session.unregister(probe)
    for _ in 0..<2 { #expect(await session.outcome(of: server.url("/")).text == "hello") }
    #expect(server.requests.count == 3)
  }

  @Test func whatAnObserverPutsInItsPlaceIsStored() async throws {
    let server = try LoopbackServer { _ in .text("hello").with(.cacheControl, "max-age=60") }
    let probe = ObserverProbe { probe in
      probe.onCache = { .allow(CachedURLResponse(response: $0.response, data: $0.data + Data(" again".utf8))) }
    }
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(probe)

    #expect(await session.outcome(of: server.url("/")).text == "hello")
    #expect(await session.outcome(of: server.url("/")).text == "hello again")
    #expect(server.requests.count == 1)
  }

  @Test func anObserversStreamReplacesTheTasksOwn() async throws {
    let server = try LoopbackServer { .text($0.text) }
    let probe = ObserverProbe { $0.onStream = { .allow(InputStream(data: Data("observer's".utf8))) } }
    let session = SAPURLSession.uncached(probe)

    let outcome: Outcome = await withCheckedContinuation { continuation in
      session.uploadTask(
        withStreamedRequest: URLRequest("PUT", server.url("/")),
        needNewBodyStream: { InputStream(data: Data("own".utf8)) }
      ) { continuation.resume(returning: Outcome(data: $0, response: $1, error: $2)) }.resume()
    }

    #expect(outcome.text == "observer's")
  }

  @Test func whoIsSilentAtTheEndOfACancelledTaskIsNotWaitedFor() async throws {
    final class SilentAtTheEnd: SAPURLSessionObserving, Sendable {
      func sapURLSession(
        _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
        completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
      ) {}
    }
    let server = try LoopbackServer { _ in .text("hello") }
    let outcome = await SAPURLSession.uncached(SilentAtTheEnd()).outcome(of: URLRequest(url: server.url("/"))) { task in
      task.cancel()
    }

    #expect(outcome.code == .cancelled)
  }
}
