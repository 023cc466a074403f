@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The events of a run's calls over time.
struct Timeline: Sendable {
  /// A call with its attempts.
  struct CallRecord: Sendable {
    let id: UInt64
    let method: String
    let url: String
    let start: Duration
    var end: Duration?
    var attempts: [AttemptRecord] = []
    var error: String?
  }

  /// One request of a call, and the known part of its response.
  struct AttemptRecord: Sendable {
    let number: Int
    let start: Duration
    var end: Duration?
    var method: String
    var url: String
    /// The sent fields, without secrets.
    var requestFields: HTTPFields
    var wasSent = false
    var status: HTTPStatus?
    var version: HTTPVersion?
    var responseFields: HTTPFields = [:]
    /// When the request reached the network.
    var sendingTime: Duration?
    /// When the head arrived.
    var headTime: Duration?
    var metrics: TransferMetrics?
    var received: Int64 = 0
    /// The phase in which it failed.
    var failure: HTTPError.Phase?
    /// Other reports: decisions of the cache, refused cookies, the reason for a resend.
    var notes: [String] = []
  }

  let began: Date
  var calls: [CallRecord] = []

  /// When the last call ended.
  var end: Duration {
    calls.map { call in max(call.end ?? call.start, call.attempts.map { $0.end ?? $0.start }.max() ?? .zero) }.max()
      ?? .zero
  }
}

/// Collects a ``Timeline``.
final class TimelineRecorder: EventListener {
  private let redaction: Redaction
  private let stopwatch: Stopwatch
  private let state: Mutex<Timeline>

  init(redaction: Redaction, clock: any Clock<Duration>, now: @Sendable () -> Date = { .now }) {
    self.redaction = redaction
    stopwatch = Stopwatch(clock)
    state = Mutex(Timeline(began: now()))
  }

  var timeline: Timeline { state.withLock { $0 } }

  func receive(_ event: Event, in call: Call) {
    let time = stopwatch.elapsed
    state.withLock { timeline in
      if case .started(let request) = event {
        timeline.calls.append(
          Timeline.CallRecord(
            id: call.id, method: request.method.rawValue, url: redaction.redacted(request.url), start: time))
      }
      guard let index = timeline.calls.firstIndex(where: { $0.id == call.id }) else { return }
      update(&timeline.calls[index], event, at: time)
    }
  }

  private func update(_ call: inout Timeline.CallRecord, _ event: Event, at time: Duration) {
    if case .attempt(let number, let request) = event {
      call.attempts.append(
        Timeline.AttemptRecord(
          number: number, start: time, method: request.method.rawValue, url: redaction.redacted(request.url),
          requestFields: redaction.redacted(request.fields)))
    }
    if case .finished(let error) = event {
      call.end = time
      // If a body was not needed, such as that of a token's response, its cancellation is not a failure.
      let isUnread = error?.isCancelled == true && call.attempts.last?.status != nil
      call.error = isUnread ? nil : error.map { "\($0.kind): \($0.message)" }
    }
    guard let last = call.attempts.indices.last else { return }
    update(&call.attempts[last], event, at: time)
  }

  private func update(_ attempt: inout Timeline.AttemptRecord, _ event: Event, at time: Duration) {
    switch event {
    case .sending(let head):
      (attempt.wasSent, attempt.sendingTime) = (true, time)
      attempt.requestFields = redaction.redacted(head.fields)
    case .written(let head): attempt.requestFields = redaction.redacted(head.fields)
    case .progress(let progress):
      if progress.direction == .received { attempt.received = progress.completed }
    case .response(let head, _):
      attempt.status = head.status
      attempt.version = head.version
      attempt.responseFields = redaction.redacted(head.fields)
      attempt.headTime = time
    case .metrics(let metrics): attempt.metrics = metrics
    case .resend:
      attempt.end = time
      attempt.notes.append("\(event)")
    case .cookieRefused, .cached, .limit, .note: attempt.notes.append("\(event)")
    case .finished(let error): (attempt.end, attempt.failure) = (time, error?.phase)
    case .started, .attempt, .informational, .bytes, .message, .cookiesStored, .cacheDecision: break
    @unknown default: break
    }
  }
}
