import Dispatch
package import MartletEngine
package import MartletSemantics
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport

/// Records the events of calls in a short form.
package final class EventLog: EventListener {
  private let log = Mutex<[String]>([])
  package let events: Event.Kinds
  package var lines: [String] { log.withLock { $0 } }

  package init(_ events: Event.Kinds = .exceptBytes.subtracting([.cookiesStored, .cacheDecision])) {
    self.events = events
  }

  package func receive(_ event: Event, in call: Call) {
    let line =
      switch event {
      case .started: "started"
      case .attempt(let number, let request): "attempt \(number) \(request.method) \(request.url.absoluteString)"
      case .sending(let head): "sending \(head.method) \(head.url.absoluteString)"
      case .written(let head): "written \(head.target)"
      case .bytes(let bytes, let direction, let attempt): "bytes \(direction) \(bytes.count) of \(attempt)"
      case .informational(let head): "informational \(head.status.code)"
      case .progress(let progress): "\(progress.direction) \(progress.completed)"
      case .response(let head, _): "response \(head.status.code)"
      case .metrics: "metrics"
      case .resend(_, _, let reason, _): "resend: \(reason)"
      case .cookieRefused(let refusal): "refused \(refusal.name): \(refusal.reason)"
      case .cookiesStored(let names): "stored \(names.joined(separator: ", "))"
      case .cacheDecision(let decision): "\(decision.action): \(decision.reason), \(decision.rule)"
      case .cached(let source): "cached \(source.rawValue)"
      case .limit(let limit): "limit: \(limit)"
      case .message(let message): "message \(message)"
      case .note(let text): "note: \(text)"
      case .finished(let error): "finished" + (error.map { " \($0.kind)" } ?? "")
      }
    log.withLock { $0.append(line) }
  }
}

/// An interceptor that calls closures.
package struct TestInterceptor: Interceptor {
  package var prepare: @Sendable (HTTPRequest) async throws -> HTTPRequest
  package var review: @Sendable (Outcome, Attempt) async throws -> Verdict

  package init(
    prepare: @escaping @Sendable (HTTPRequest) async throws -> HTTPRequest = { $0 },
    review: @escaping @Sendable (Outcome, Attempt) async throws -> Verdict = { _, _ in .accept }
  ) {
    self.prepare = prepare
    self.review = review
  }

  package func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    .send(try await prepare(request))
  }

  package func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    try await review(outcome, attempt)
  }
}

/// Runs the task that a test starts on it, and tells when the task has suspended: what it waits for comes from
/// elsewhere. The tasks that this task starts run elsewhere.
package final class WatchedExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "task")
  /// The number of jobs that are queued or running.
  private let jobs = Awaitable(0)

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.update { $0 += 1 }
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      jobs.update { $0 -= 1 }
    }
  }

  /// Returns when the task has suspended or ended.
  package func idle() async throws { _ = try await jobs.wait { $0 == 0 ? true : nil } }
}

/// A body of chunks that records whether it was cancelled.
package final class WatchedSource: BodySource {
  private let chunks: Mutex<[Data]>
  private let cancelled = Mutex(false)

  package init(_ chunks: [String]) { self.chunks = Mutex(chunks.map { Data($0.utf8) }) }

  package var isCancelled: Bool { cancelled.withLock { $0 } }

  package func next() async throws -> Data? { chunks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  package func cancel() { cancelled.withLock { $0 = true } }
}

/// A transport that calls a closure.
package struct TestTransport: Transport {
  package let answer: @Sendable (HTTPRequest) async throws -> HTTPResponse

  package init(_ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) { self.answer = answer }

  package func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse { try await answer(request) }
}

/// A transport that calls a closure with the call.
package struct CallTransport: Transport {
  package let answer: @Sendable (HTTPRequest, Call) async throws -> HTTPResponse

  package init(_ answer: @escaping @Sendable (HTTPRequest, Call) async throws -> HTTPResponse) { self.answer = answer }

  package func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    try await answer(request, call)
  }
}

extension HTTPResponse {
  package static func text(_ text: String, status: HTTPStatus = .ok, fields: HTTPFields = [:]) -> HTTPResponse {
    HTTPResponse(status: status, fields: fields, body: ResponseBody(Data(text.utf8)), url: origin)
  }
}

/// A flag that is true the first time it is read.
package final class Once: Sendable {
  private let isOver = Atomic(false)

  package init() {}

  package func first() -> Bool { !isOver.exchange(true, ordering: .relaxed) }
}

/// An interceptor whose review is a closure.
package struct ReviewInterceptor: Interceptor {
  package let work: @Sendable (Call) async throws -> Void

  package init(_ work: @escaping @Sendable (Call) async throws -> Void) { self.work = work }

  package func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    try await work(call)
    return .accept
  }
}
