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
  private let revisions: RevisionCounter

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

  /// An event, and when it happened, since the log began.
  struct TimedEvent: Sendable {
    let time: Duration
    let event: Event

    init(_ time: Duration, _ event: Event) { (self.time, self.event) = (time, event) }
  }

  struct Content: Sendable {
    /// What happened. Of the progress of a body, only the last.
    var events: [TimedEvent] = []
    /// The attempts of an archive.
    var archived: [Attempt] = []
    var end: Duration?
    var error: HTTPError?
    var revision: UInt64
    /// The bytes of bodies and messages in the events.
    var bytes = 0
    /// The bytes of the current attempt's bodies, and of its messages.
    var kept = Kept()
    var skipped: [Skipped] = []
    var isDropped = false
    /// How it ended, for the counters.
    var outcome = CallCounters.Outcome()
  }

  struct Kept: Sendable {
    var sent = 0
    var received = 0
    var sentProgress: (time: Duration, progress: Event.Progress)?
    var receivedProgress: (time: Duration, progress: Event.Progress)?

    mutating func keep(_ progress: Event.Progress, at time: Duration) {
      if progress.direction == .sent { sentProgress = (time, progress) } else { receivedProgress = (time, progress) }
    }

    var progress: [TimedEvent] {
      [sentProgress, receivedProgress].compactMap { $0.map { TimedEvent($0.time, .progress($0.progress)) } }
    }
  }

  /// Bytes of a body that are only counted.
  struct Skipped: Sendable {
    var attempt: Int
    var direction: Event.Progress.Direction
    var count: Int
  }

  /// The maximum number of events of a call: a call that is sent again and again must not grow without end.
  fileprivate static let eventLimit = 10_000
  /// The kinds of events that are not just added.
  private static let inspected: Event.Kinds = [
    .progress, .bytes, .message, .attempt, .resend, .response, .cached, .finished,
  ]
  /// What an event with bytes takes besides them.
  static let overhead = 64

  init(_ id: UInt64, label: String?, _ request: HTTPRequest, start: Duration, _ revisions: RevisionCounter) {
    self.id = id
    self.label = label
    self.start = start
    self.revisions = revisions
    self.request = request.withoutBody
    var content = Content(revision: revisions.next())
    content.events.reserveCapacity(12)
    self.content = Mutex(content)
  }

  /// Makes a call that has ended.
  init(
    _ id: UInt64, _ request: HTTPRequest, _ attempts: [Attempt], end: (time: Duration, error: HTTPError?),
    _ revisions: RevisionCounter
  ) {
    (self.id, self.request, start) = (id, request, attempts.first?.start ?? .zero)
    label = nil
    self.revisions = revisions
    content = Mutex(Content(archived: attempts, end: end.time, error: end.error, revision: revisions.next()))
  }

  var isPinned: Bool { pinned.load(ordering: .relaxed) }

  var snapshot: Content { content.withLock { $0 } }

  var revision: UInt64 { content.withLock { $0.revision } }

  func pin(_ isPinned: Bool) {
    pinned.store(isPinned, ordering: .relaxed)
    content.withLock { $0.revision = revisions.next() }
  }

  /// How it ended, for the counters.
  var outcome: CallCounters.Outcome { content.withLock { $0.outcome } }

  /// Records nothing more, and releases what it holds if its call goes on; returns the number of bytes that it held.
  func drop() -> Int {
    content.withLock { content in
      let bytes = content.bytes
      if content.end == nil { content = Content(revision: content.revision) }
      content.isDropped = true
      content.bytes = 0
      return bytes
    }
  }

  /// Adds an event of a kind, and returns by how many bytes of bodies the call has grown. The change gets its number
  /// under the lock: a page that sees the number sees the change.
  func update(_ event: Event, _ kind: Event.Kinds, at time: Duration, bodyLimit: Int) -> Int {
    content.withLock { content in
      // Bytes of the request's body may arrive after the end.
      guard content.end == nil, !content.isDropped else { return 0 }
      content.revision = revisions.next()
      // A switch over the event would copy it.
      guard !Self.inspected.isDisjoint(with: kind) else {
        content.append(event, at: time)
        return 0
      }
      switch event {
      case .progress(let progress): content.kept.keep(progress, at: time)
      case .bytes(let bytes, let direction, let attempt):
        let room = bodyLimit - (direction == .sent ? content.kept.sent : content.kept.received)
        return content.add(bytes, direction, attempt, at: time, room: content.isFull ? 0 : room)
      case .message(var message):
        message.payload = Data(message.payload.prefix(max(0, bodyLimit - content.kept.received)))
        content.kept.received += message.payload.count
        if content.isFull { return 0 }
        content.events.append(TimedEvent(time, .message(message)))
        return content.grow(by: message.payload.count)
      case .attempt(let number, let request):
        content.endAttempt()
        content.append(.attempt(number, request.withoutBody), at: time)
      case .resend(let request, let delay, let reason, let failure):
        content.append(.resend(request.withoutBody, after: delay, reason: reason, failure: failure), at: time)
      case .response(let head, _):
        content.outcome.isFailure = head.status.code >= 400
        content.append(event, at: time)
      case .cached:
        content.outcome.isCached = true
        content.append(event, at: time)
      case .finished(let error): content.end(error, at: time)
      default: content.append(event, at: time)
      }
      return 0
    }
  }
}

extension RecordedCall.Content {
  fileprivate var isFull: Bool { events.count >= RecordedCall.eventLimit }

  fileprivate mutating func append(_ event: Event, at time: Duration) {
    if !isFull { events.append(RecordedCall.TimedEvent(time, event)) }
  }

  fileprivate mutating func end(_ error: HTTPError?, at time: Duration) {
    endAttempt()
    end = time
    self.error = error
    if error?.body != nil { self.error?.body = nil }
    if let error, !error.isCancelled { outcome.isFailure = true }
    events.append(RecordedCall.TimedEvent(time, .finished(self.error)))  // also if there are too many
  }

  fileprivate mutating func grow(by count: Int) -> Int {
    bytes += count + RecordedCall.overhead
    return count + RecordedCall.overhead
  }

  /// Adds the beginning of bytes, a copy that holds no larger buffer, and counts the rest.
  fileprivate mutating func add(
    _ chunk: Data, _ direction: Event.Progress.Direction, _ attempt: Int, at time: Duration, room: Int
  ) -> Int {
    let taken = min(chunk.count, max(0, room))
    if taken < chunk.count {
      let rest = chunk.count - taken
      if let index = skipped.lastIndex(where: { $0.attempt == attempt && $0.direction == direction }) {
        skipped[index].count += rest
      } else {
        skipped.append(RecordedCall.Skipped(attempt: attempt, direction: direction, count: rest))
      }
    }
    guard taken > 0 else { return 0 }
    if direction == .sent { kept.sent += taken } else { kept.received += taken }
    let copy = chunk.withUnsafeBytes { bytes in
      Data(buffer: UnsafeBufferPointer(rebasing: bytes.bindMemory(to: UInt8.self).prefix(taken)))
    }
    events.append(RecordedCall.TimedEvent(time, .bytes(copy, direction, attempt: attempt)))
    return grow(by: taken)
  }

  /// Keeps the last progress of the attempt that ends.
  fileprivate mutating func endAttempt() {
    if let (time, progress) = kept.sentProgress { append(.progress(progress), at: time) }
    if let (time, progress) = kept.receivedProgress {
      append(.progress(progress), at: time)
      outcome.received += progress.completed
    }
    kept = RecordedCall.Kept()
  }

  /// The attempts so far, made of the events.
  func attempts(of call: RecordedCall, _ log: CallLog) -> [RecordedCall.Attempt] {
    guard archived.isEmpty else { return archived }
    var attempts: [RecordedCall.Attempt] = []
    for timed in events + kept.progress {
      let (time, event) = (timed.time, timed.event)
      switch event {
      case .attempt(let number, let request):
        let date = log.began + time.inMilliseconds / 1000
        let attempt = HARAttempt(
          number, of: call.id, request, at: (date, Stopwatch(ContinuousClock())), bodyLimit: log.bodyLimit)
        attempts.append(RecordedCall.Attempt(live: attempt, start: time))
      case .bytes(_, _, let number):
        // Those of an attempt that has ended may still arrive.
        guard let index = attempts.lastIndex(where: { $0.live?.number == number }) else { continue }
        attempts[index].update(event, at: time)
      default: attempts.indices.last.map { attempts[$0].update(event, at: time) }
      }
    }
    for part in skipped {
      guard let index = attempts.lastIndex(where: { $0.live?.number == part.attempt }) else { continue }
      attempts[index].live?.skip(part.count, part.direction)
    }
    if end == nil { attempts.indices.last.map { attempts[$0].stop(at: log.elapsed) } }
    return attempts
  }
}

extension RecordedCall.Attempt {
  fileprivate mutating func update(_ event: Event, at time: Duration) {
    live?.update(event, at: time - start)
    switch event {
    case .resend(_, _, let reason, _):
      self.reason = reason
      stop(at: time)
    case .finished(let error):
      self.error = error
      stop(at: time)
    default: break
    }
  }

  fileprivate mutating func stop(at time: Duration) { live?.stop(at: time - start) }

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
