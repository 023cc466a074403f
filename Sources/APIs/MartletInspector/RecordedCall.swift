import MartletEngine
import MartletObservation
import MartletSemantics
import Synchronization

/// A call and its events, as values that become text only when a page asks.
package final class RecordedCall: Sendable {
  let id: UInt64
  let label: String?
  let request: HTTPRequest
  /// When it began, since the log began.
  let start: Duration
  private let content: Mutex<Content>
  private let pinned = Atomic(false)

  /// An attempt, and why it was not the last.
  struct Attempt: Sendable {
    /// The recording; nil if it comes from an archive.
    var live: HARAttempt?
    /// The entry of an archive; nil if it was recorded.
    var archived: ArchivedEntry?
    /// When it began, since the log began.
    var start: Duration
    var reason: String?
    var error: HTTPError?
  }

  final class ArchivedEntry: Sendable {
    let entry: HAR.Entry

    init(_ entry: HAR.Entry) { self.entry = entry }
  }

  struct Content: Sendable {
    var attempts: [Attempt] = []
    /// All events but bytes, progress and messages, which the attempts have.
    var events: [(time: Duration, event: Event)] = []
    var end: Duration?
    var error: HTTPError?
    var revision: UInt64
    var bytes = 0
    var isDropped = false
  }

  /// The maximum number of events of a call: a call that is sent again and again must not grow without end.
  private static let eventLimit = 1000

  init(_ id: UInt64, label: String?, _ request: HTTPRequest, start: Duration, revision: UInt64) {
    (self.id, self.label, self.start) = (id, label, start)
    self.request = request.withoutBody
    var content = Content(revision: revision)
    content.events.reserveCapacity(8)
    self.content = Mutex(content)
  }

  /// Makes a call that has ended.
  init(_ id: UInt64, _ request: HTTPRequest, _ attempts: [Attempt], end: Duration, _ error: HTTPError?) {
    (self.id, self.request, start) = (id, request, attempts.first?.start ?? .zero)
    label = nil
    content = Mutex(Content(attempts: attempts, end: end, error: error, revision: id))
  }

  var isPinned: Bool { pinned.load(ordering: .relaxed) }

  var snapshot: Content { content.withLock { $0 } }

  var revision: UInt64 { content.withLock { $0.revision } }

  func pin(_ isPinned: Bool, revision: UInt64) {
    pinned.store(isPinned, ordering: .relaxed)
    content.withLock { $0.revision = revision }
  }

  /// Releases what it holds, and records nothing more; returns the number of bytes that it held.
  func drop() -> Int {
    content.withLock { content in
      defer { content = Content(revision: content.revision, isDropped: true) }
      return content.bytes
    }
  }

  /// Adds an event, and returns by how many bytes of bodies the call has grown.
  func update(_ event: Event, at time: Duration, revision: UInt64, bodyLimit: Int) -> Int {
    content.withLock { content in
      guard !content.isDropped else { return 0 }
      content.revision = revision
      switch event {
      case .bytes(_, _, let number):
        // those of an attempt that has ended may still arrive
        guard let index = content.attempts.lastIndex(where: { $0.live?.number == number }) else { return 0 }
        return content.grow(by: event, index)
      case .message, .progress: return content.grow(by: event, content.attempts.count - 1)
      case .attempt(let number, let request):
        content.stopLast()
        let attempt = HARAttempt(
          number, of: id, request, at: (.now, Stopwatch(ContinuousClock())), bodyLimit: bodyLimit)
        content.attempts.append(Attempt(live: attempt, start: time))
      case .resend(_, _, let reason):
        content.stopLast()
        if let last = content.attempts.indices.last { content.attempts[last].reason = reason }
      case .finished(let error):
        content.stopLast()
        if let last = content.attempts.indices.last { content.attempts[last].error = error }
        content.end = time
        content.error = error
        content.error?.body = nil
      default: _ = content.grow(by: event, content.attempts.count - 1)
      }
      if content.events.count < Self.eventLimit { content.events.append((time, event.withoutBodies)) }
      return 0
    }
  }
}

extension RecordedCall.Content {
  fileprivate mutating func grow(by event: Event, _ index: Int) -> Int {
    guard attempts.indices.contains(index), let before = attempts[index].live?.heldBytes else { return 0 }
    attempts[index].live?.update(event)
    let grown = (attempts[index].live?.heldBytes ?? before) - before
    bytes += grown
    return grown
  }

  fileprivate mutating func stopLast() {
    if let last = attempts.indices.last { attempts[last].live?.stop() }
  }
}

extension RecordedCall.Attempt {
  /// The attempt as an entry of an archive, with its secrets replaced.
  func entry(_ redaction: Redaction) -> HAR.Entry? {
    archived?.entry ?? live?.entry(reason: reason, error: error, redaction: redaction)
  }
}

extension HTTPRequest {
  /// The request without a body in memory: the attempts have its beginning, and nothing else is bounded.
  fileprivate var withoutBody: HTTPRequest {
    guard !body.isEmpty else { return self }
    var copy = self
    copy.body = .empty
    return copy
  }
}

extension Event {
  fileprivate var withoutBodies: Event {
    switch self {
    case .started(let request): return .started(request.withoutBody)
    case .attempt(let number, let request): return .attempt(number, request.withoutBody)
    case .resend(let request, let delay, let reason):
      return .resend(request.withoutBody, after: delay, reason: reason)
    case .finished(var error?) where error.body != nil:
      error.body = nil
      return .finished(error)
    default: return self
    }
  }
}
