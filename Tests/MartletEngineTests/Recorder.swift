import MartletEngine
import MartletSemantics
import Synchronization

let origin = url("http://a.example/")

/// A URL that the test's author wrote; a mistake in it stops the test run.
func url(_ text: String) -> URL {
  guard let url = URL(string: text) else { fatalError("'\(text)' is no URL") }
  return url
}

/// Remembers the events of exchanges, in short.
final class EventLog: EventListener {
  private let log = Mutex<[String]>([])
  var lines: [String] { log.withLock { $0 } }

  func receive(_ event: Event, in exchange: Exchange) {
    let line =
      switch event {
      case .started: "started"
      case .attempt(let number, let request): "attempt \(number) \(request.method) \(request.url.absoluteString)"
      case .sending(let head): "sending \(head.method) \(head.url.absoluteString)"
      case .bytes(let bytes, let direction, let attempt): "bytes \(direction) \(bytes.count) of \(attempt)"
      case .informational(let head): "informational \(head.status.code)"
      case .progress(let progress): "\(progress.direction) \(progress.completed)"
      case .response(let head, _): "response \(head.status.code)"
      case .metrics: "metrics"
      case .resend(_, _, let reason): "resend: \(reason)"
      case .cookieRefused(let refusal): "refused \(refusal.name): \(refusal.reason)"
      case .note(let text): "note: \(text)"
      case .finished(let error): "finished" + (error.map { " \($0.kind)" } ?? "")
      }
    log.withLock { $0.append(line) }
  }
}

/// An interceptor made of closures.
struct TestInterceptor: Interceptor {
  var prepare: @Sendable (HTTPRequest) async throws -> HTTPRequest = { $0 }
  var review: @Sendable (Outcome, Attempt) async throws -> Verdict = { _, _ in .accept }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    try await prepare(request)
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    try await review(outcome, attempt)
  }
}

/// A body that gives chunks and remembers whether it was given up.
final class WatchedSource: BodySource {
  private let chunks: Mutex<[Data]>
  private let cancelled = Mutex(false)

  init(_ chunks: [String]) { self.chunks = Mutex(chunks.map { Data($0.utf8) }) }

  var isCancelled: Bool { cancelled.withLock { $0 } }

  func next() async throws -> Data? { chunks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  func cancel() { cancelled.withLock { $0 = true } }
}

/// A transport made of a closure.
struct TestTransport: Transport {
  let answer: @Sendable (HTTPRequest) async throws -> HTTPResponse

  init(_ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) { self.answer = answer }

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse { try await answer(request) }
}

extension HTTPResponse {
  static func text(_ text: String, status: HTTPStatus = .ok, fields: HTTPFields = [:]) -> HTTPResponse {
    HTTPResponse(status: status, fields: fields, body: ResponseBody(Data(text.utf8)), url: origin)
  }
}
