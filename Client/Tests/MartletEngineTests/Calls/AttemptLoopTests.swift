import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AttemptLoopTests {
  private func session(
    _ transport: any Transport, _ interceptors: [any Interceptor], limit: Int = 21,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.interceptors = interceptors
    configuration.attemptLimit = limit
    configuration.clock = clock
    return HTTPSession(transport: transport, configuration: configuration)
  }

  // RFC 9110 §9.3.2, §9.3.6, §9.3.8.
  @Test(arguments: [HTTPMethod.head, .connect, .trace])
  func aMethodWithoutContentRefusesABodyBeforeItIsSent(_ method: HTTPMethod) async throws {
    let transport = ScriptedTransport(.text("unexpected"))
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession(transport: transport).data(for: HTTPRequest(method, origin, body: .text("a")))
    }
    #expect(error?.kind == .invalidRequest && error?.message.contains("a \(method) request") == true)
    #expect(transport.requests.isEmpty)
  }

  @Test func interceptorsPrepareInOrderAndReviewInReverse() async throws {
    let order = Mutex<[String]>([])
    let interceptors = ["a", "b", "c"].map { name in
      TestInterceptor(
        prepare: { request in
          order.withLock { $0.append("prepare \(name)") }
          var request = request
          request.fields["X-Path"] = (request.fields["X-Path"] ?? "") + name
          return request
        },
        review: { _, _ in
          order.withLock { $0.append("review \(name)") }
          return .accept
        })
    }
    let transport = ScriptedTransport(.text("done"))

    _ = try await session(transport, interceptors).data(for: HTTPRequest(.get, origin))

    #expect(
      order.withLock { $0 } == ["prepare a", "prepare b", "prepare c", "review c", "review b", "review a"])
    #expect(transport.requests.first?.fields["X-Path"] == "abc")
  }

  @Test func aListenerSeesTheErrorOfAnAttemptThatIsRepeated() async throws {
    let seen = Mutex<[HTTPError.Kind?]>([])
    let again = TestInterceptor(review: { _, attempt in
      attempt.number < 3 ? .resend(attempt.request, reason: "once more") : .accept
    })
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [
      EventHandler { event, call in
        if case .resend(_, _, _, let failure) = event { seen.withLock { $0.append(failure?.kind) } }
      }
    ]
    let transport = ScriptedTransport(.failure(HTTPError(.connectionLost, "gone")), .text("first"), .text("second"))
    _ = try await session(transport, [again]).data(for: request)
    #expect(seen.withLock { $0 } == [.connectionLost, nil])
  }

  @Test func replaceContinuesWithTheNewResponse() async throws {
    let seen = Mutex<[Int]>([])
    let interceptors = [
      TestInterceptor(review: { outcome, _ in
        seen.withLock { $0.append((try? outcome.get().status.code) ?? 0) }
        return .accept
      }),
      TestInterceptor(review: { _, _ in .replace(.text("other", status: .accepted)) }),
    ]

    let (data, response) = try await session(ScriptedTransport(.text("first")), interceptors)
      .data(for: HTTPRequest(.get, origin))

    #expect(seen.withLock { $0 } == [202])
    #expect(response.status == 202)
    #expect(String(decoding: data, as: UTF8.self) == "other")
  }

  @Test func resendStartsFromTheCallersRequest() async throws {
    let transport = ScriptedTransport(.status(.serviceUnavailable), .text("done"))
    let tagging = TestInterceptor(
      prepare: { request in
        var request = request
        request.fields.append("once", for: "X-Tag")
        return request
      },
      review: { outcome, attempt in
        guard try outcome.get().status == .serviceUnavailable else { return .accept }
        #expect(attempt.sent.fields["X-Tag"] == "once")
        #expect(attempt.request.fields["X-Tag"] == nil)
        return .resend(attempt.request, reason: "busy")
      })

    let (_, response) = try await session(transport, [tagging]).data(for: HTTPRequest(.get, origin))

    #expect(transport.requests.map { $0.fields[values: "X-Tag"] } == [["once"], ["once"]])
    #expect(response.history.map(\.reason) == ["busy"])
    #expect(response.history.first?.response?.status == .serviceUnavailable)
  }

  @Test func resendCancelsTheBodyOfTheResponse() async throws {
    let source = WatchedSource(["never read"])
    let count = Mutex(0)
    let transport = TestTransport { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number == 1
        ? HTTPResponse(status: .tooManyRequests, body: ResponseBody(from: source), url: origin) : .text("done")
    }
    let again = TestInterceptor(review: { outcome, attempt in
      try outcome.get().status == .tooManyRequests ? .resend(attempt.request, reason: "too many") : .accept
    })

    _ = try await session(transport, [again]).data(for: HTTPRequest(.get, origin))

    #expect(source.isCancelled)
  }

  @Test func aReplacementInMemoryCancelsTheBodyOfTheResponse() async throws {
    let source = WatchedSource(["never read"])
    let transport = TestTransport { _ in HTTPResponse(body: ResponseBody(from: source), url: origin) }
    let replacing = TestInterceptor(review: { _, _ in .replace(.text("other")) })

    let (data, _) = try await session(transport, [replacing]).data(for: HTTPRequest(.get, origin))

    #expect(source.isCancelled)
    #expect(String(decoding: data, as: UTF8.self) == "other")
  }

  /// A body that reads another one.
  private struct WrappingSource: BodySource {
    let base: any BodySource

    func next() async throws -> Data? { try await base.next() }
  }

  @Test(arguments: [true, false])
  func aReplacementThatReadsTheBodyOfTheResponseDoesNotCancelIt(_ wraps: Bool) async throws {
    let source = WatchedSource(["whole"])
    let transport = TestTransport { _ in HTTPResponse(body: ResponseBody(from: source), url: origin) }
    let seen = Mutex<[Bool]>([])
    let interceptors = [
      TestInterceptor(review: { _, _ in
        seen.withLock { $0.append(source.isCancelled) }
        return .accept
      }),
      TestInterceptor(review: { outcome, _ in
        var response = try outcome.get()
        response.fields["X-Reviewed"] = "yes"
        if wraps { response.body = ResponseBody(from: WrappingSource(base: source)) }
        return .replace(response)
      }),
    ]

    let (data, response) = try await session(transport, interceptors).data(for: HTTPRequest(.get, origin))

    #expect(seen.withLock { $0 } == [false])
    #expect(response.fields["X-Reviewed"] == "yes")
    #expect(String(decoding: data, as: UTF8.self) == "whole")
  }

  @Test func everyResendCountsTowardsOneLimit() async throws {
    let sends = Mutex(0)
    let transport = TestTransport { _ in
      sends.withLock { $0 += 1 }
      return .text("no")
    }
    let again = TestInterceptor(review: { _, attempt in .resend(attempt.request, reason: "still not happy") })

    let error = await #expect(throws: HTTPError.self) {
      try await session(transport, [again], limit: 3).data(for: HTTPRequest(.get, origin))
    }

    #expect(error?.kind == .tooManyAttempts)
    #expect(error?.message.contains("still not happy") == true)
    #expect(error?.history.count == 2, "the attempts before the last one")
    #expect(error?.response?.status == .ok)
    #expect("\(try #require(error))".hasSuffix("(GET \(origin), status 200, attempt 3)"))
    #expect(sends.withLock { $0 } == 3)
  }

  @Test func aDelayedResendWaitsOnTheClock() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport(.status(.serviceUnavailable), .text("done"))
    let later = TestInterceptor(review: { outcome, attempt in
      try outcome.get().status == .ok ? .accept : .resend(attempt.request, after: .seconds(30), reason: "busy")
    })
    let session = session(transport, [later], clock: clock)

    let call = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await clock.sleepers(1)
    #expect(transport.requests.count == 1)
    clock.advance(by: .seconds(30))

    #expect(try await call.value == .ok)
  }

  @Test func anInterceptorCanReplaceAFailureByAResponse() async throws {
    let transport = TestTransport { _ in throw HTTPError(.cannotConnect, "nobody there") }
    let fallback = TestInterceptor(review: { outcome, _ in
      guard case .failure = outcome else { return .accept }
      return .replace(.text("fallback"))
    })

    let (data, _) = try await session(transport, [fallback]).data(for: HTTPRequest(.get, origin))

    #expect(String(decoding: data, as: UTF8.self) == "fallback")
  }

  @Test func anInterceptorsErrorIsTheUnderlyingError() async throws {
    struct Veto: Error {}
    let refusing = TestInterceptor(prepare: { _ in throw Veto() })

    let error = await #expect(throws: HTTPError.self) {
      try await session(ScriptedTransport(), [refusing]).data(for: HTTPRequest(.get, origin))
    }

    #expect(error?.underlying is Veto)
    #expect(error?.request?.url == origin)
  }

  @Test func aReviewThatThrowsCancelsTheResponse() async throws {
    struct Veto: Error {}
    let source = WatchedSource(["x"])
    let transport = TestTransport { _ in HTTPResponse(body: ResponseBody(from: source), url: origin) }
    let refusing = TestInterceptor(review: { _, _ in throw Veto() })

    let error = await #expect(throws: HTTPError.self) {
      try await session(transport, [refusing]).data(for: HTTPRequest(.get, origin))
    }

    #expect(error?.response?.status == .ok)
    #expect(source.isCancelled)
  }

  @Test func aCancelledTaskSendsNothing() async throws {
    let transport = ScriptedTransport(.text("never"))
    let gate = Gate()
    let waiting = TestInterceptor(prepare: { request in
      try? await gate.wait()
      return request
    })
    let session = session(transport, [waiting, TestInterceptor()])

    let call = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    call.cancel()
    gate.open()

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .cancelled)
    #expect(error?.isCancelled == true)
  }

  @Test(arguments: [
    ("ftp://a.example/", "ftp"), ("mailto:a@b.example", "mailto"), ("/relative", "no scheme"),
    ("http:///path", "no host"),
  ])
  func aURLThatIsNotHTTPIsRefused(text: String, culprit: String) async throws {
    let error = await #expect(throws: HTTPError.self) {
      try await session(ScriptedTransport(), []).data(for: HTTPRequest(.get, url(text)))
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains(culprit) == true)
  }

  @Test func aRefusedFieldFailsBeforeAnythingIsSent() async throws {
    let transport = ScriptedTransport(.text("never"))
    var request = HTTPRequest(.get, origin)
    request.fields["X-Tag"] = "a\r\nInjected: yes"

    let error = await #expect(throws: HTTPError.self) { try await session(transport, []).data(for: request) }

    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("X-Tag") == true)
    #expect(error?.description.contains("Injected") == false)
    #expect(transport.requests.isEmpty)
  }
}
