@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// A call and its events, as values that become text only when a page asks.
final class RecordedCall: Sendable {
  let id: UInt64
  let label: String?
  let request: HTTPRequest
  /// When it began, since the log began.
  let start: Duration
  /// What it takes to send it again; nil if the inspector does not allow that.
  let repetition: Repetition?
  private let content: Mutex<Content>
  private let pinned = Atomic(false)
  private let revisions: RevisionCounter

  /// An attempt, and why it was not the last.
  struct Attempt: Sendable {
    /// The recording; nil if it comes from an archive.
    var live: HARAttempt?
    /// The entry of an archive; nil if it was recorded.
    var archived: ArchivedEntry?
    /// The content codings that were decoded in its response.
    var codings: [String] = []
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
    /// The events, except those about bodies.
    var events: [TimedEvent] = []
    /// The bodies of the current attempt, and of those before it: most calls have one attempt.
    var current = Bodies()
    var earlier: [Bodies] = []
    /// The attempts of an archive.
    var archived: [Attempt] = []
    var end: Duration?
    var error: HTTPError?
    var revision: UInt64
    /// The memory of the bodies and of the messages in the events.
    var bytes = 0
    var isDropped = false
    /// How it ended, for the counters.
    var outcome = CallCounters.EndedCall()
  }

  /// The bodies of an attempt.
  struct Bodies: Sendable {
    /// The number of the attempt; 0 before the first.
    var attempt = 0
    var sent = Body()
    var received = Body()
    /// The content codings that were decoded in the response.
    var codings: [String] = []
    /// The bytes of a WebSocket's messages.
    var messages = 0

    subscript(direction: Event.Progress.Direction) -> Body {
      get { direction == .sent ? sent : received }
      _modify { if direction == .sent { yield &sent } else { yield &received } }
    }
  }

  /// The beginning of a body, and its last progress.
  struct Body: Sendable {
    /// A copy, which holds no larger buffer.
    var bytes: [UInt8] = []
    /// The bytes after them, which are only counted.
    var skipped = 0
    var progress: Event.Progress?
    /// When that happened, since the log began.
    var time = Duration.zero
  }

  /// The maximum number of events of a call: a call that is sent again and again must not grow without end.
  fileprivate static let eventLimit = 10_000
  /// Memory is reserved for this number of events; most calls have no more.
  fileprivate static let usualEvents = 12
  /// The number of bytes that a body or message takes in addition to its content.
  static let overhead = 64

  init(
    _ id: UInt64, label: String?, _ request: HTTPRequest, start: Duration, _ repetition: Repetition? = nil,
    _ revisions: RevisionCounter
  ) {
    self.id = id
    self.label = label
    self.start = start
    self.revisions = revisions
    self.repetition = repetition
    self.request = request.withoutBody
    content = Mutex(Content(revision: revisions.next(), bytes: repetition?.memory ?? 0))
    content.withLock { $0.events.reserveCapacity(Self.usualEvents) }
  }

  /// Makes a call of an archive, which has ended.
  init(_ id: UInt64, _ archived: ArchivedCall, _ revisions: RevisionCounter) {
    (self.id, label, request, start) = (id, archived.label, archived.request, archived.attempts.first?.start ?? .zero)
    repetition = nil
    self.revisions = revisions
    content = Mutex(
      Content(
        archived: archived.attempts, end: archived.end, error: archived.error, revision: revisions.next(),
        bytes: archived.bytes))
  }

  /// The number of bytes that it holds.
  var heldBytes: Int { content.withLock { $0.bytes } }

  var isPinned: Bool { pinned.load(ordering: .relaxed) }

  var snapshot: Content { content.withLock { $0 } }

  var revision: UInt64 { content.withLock { $0.revision } }

  func pin(_ isPinned: Bool) {
    pinned.store(isPinned, ordering: .relaxed)
    content.withLock { $0.revision = revisions.next() }
  }

  /// How it ended, for the counters.
  var outcome: CallCounters.EndedCall { content.withLock { $0.outcome } }

  /// Stops recording, except how the call ends, and releases what it holds. Returns the number of bytes that it held.
  func drop() -> Int {
    content.withLock { content in
      let bytes = content.bytes
      if content.end == nil { content = content.countingOnly }
      content.isDropped = true
      content.bytes = 0
      return bytes
    }
  }

  /// Adds an event, and returns by how many bytes of bodies the call has grown. The change gets its number under the
  /// lock: a page that sees the number sees the change.
  func update(_ event: Event, at time: Duration, bodyLimit: Int) -> Int {
    content.withLock { content in
      // Bytes of the request's body may arrive after the end.
      guard content.end == nil else { return 0 }
      content.count(event, at: time)
      guard !content.isDropped else { return 0 }
      content.revision = revisions.next()
      switch event {
      case .progress: break
      case .bytes(let bytes, let direction, let attempt):
        return content.add(bytes, direction, attempt, limit: bodyLimit)
      case .message(let message): return content.add(message, at: time, limit: bodyLimit)
      case .attempt(let number, let request): content.append(.attempt(number, request.withoutBody), at: time)
      case .resend(let request, let delay, let reason, let failure):
        content.append(.resend(request.withoutBody, after: delay, reason: reason, failure: failure), at: time)
      case .finished(let error): content.end(error, at: time)
      default: content.append(event, at: time)
      }
      return 0
    }
  }

  /// Adds the content codings that were decoded in the response of the current attempt.
  func addDecoded(_ codings: [String]) {
    content.withLock { $0.current.codings = codings }
  }
}

extension RecordedCall.Content {
  /// What the counters need of a call in progress.
  fileprivate var countingOnly: RecordedCall.Content {
    var rest = RecordedCall.Content(revision: revision)
    rest.outcome = outcome
    rest.current.received.progress = current.received.progress
    return rest
  }

  /// Counts an event, even if the call is not recorded any more.
  fileprivate mutating func count(_ event: Event, at time: Duration) {
    switch event {
    case .attempt(let number, _): begin(number)
    case .progress(let progress): keep(progress, at: time)
    case .response(let head, _): outcome.isFailure = head.status.code >= 400
    case .cached: outcome.isCached = true
    case .finished(let error?) where !error.isCancelled: outcome.isFailure = true
    default: break
    }
  }

  fileprivate var isFull: Bool { events.count >= RecordedCall.eventLimit }

  fileprivate mutating func append(_ event: Event, at time: Duration) {
    if !isFull { events.append(RecordedCall.TimedEvent(time, event)) }
  }

  fileprivate mutating func end(_ error: HTTPError?, at time: Duration) {
    end = time
    self.error = error
    if error?.body != nil { self.error?.body = nil }
    events.append(RecordedCall.TimedEvent(time, .finished(self.error)))  // even if there are too many
  }

  /// Adds the beginning of a message, as long as all messages of the attempt together are within the limit.
  fileprivate mutating func add(_ message: Event.Message, at time: Duration, limit: Int) -> Int {
    var message = message
    message.payload = Data(message.payload.prefix(max(0, limit - current.messages)))
    current.messages += message.payload.count
    if isFull { return 0 }
    events.append(RecordedCall.TimedEvent(time, .message(message)))
    let growth = message.payload.count + RecordedCall.overhead
    bytes += growth
    return growth
  }

  private mutating func begin(_ attempt: Int) {
    if current.attempt > 0, !isFull, !isDropped { earlier.append(current) }
    current = RecordedCall.Bodies(attempt: attempt)
  }

  /// Adds bytes to a body as long as it is within the limit, and counts the rest.
  fileprivate mutating func add(
    _ chunk: Data, _ direction: Event.Progress.Direction, _ attempt: Int, limit: Int
  ) -> Int {
    var growth = 0
    if attempt == current.attempt {
      growth = current[direction].add(chunk, limit: limit)
    } else if let index = earlier.lastIndex(where: { $0.attempt == attempt }) {
      // Bytes of an attempt that has ended may still arrive.
      growth = earlier[index][direction].add(chunk, limit: limit)
    }
    bytes += growth
    return growth
  }

  private mutating func keep(_ progress: Event.Progress, at time: Duration) {
    if progress.direction == .received {
      outcome.received += progress.completed - (current.received.progress?.completed ?? progress.offset)
    }
    current[progress.direction].progress = progress
    current[progress.direction].time = time
  }

  /// The times of a call in which nothing was sent: before its first attempt, and between attempts.
  func delays(of call: RecordedCall, _ attempts: [RecordedCall.Attempt], until now: Duration) -> [Waterfall.Bar] {
    let first = attempts.first?.start ?? end ?? now
    let waits = events.prefix { $0.time <= first }.compactMap { timed in
      if case .note(let text) = timed.event { text.printable } else { nil }
    }
    let reason = waits.isEmpty ? "in the session's interceptors" : waits.joined(separator: "; ")
    return Waterfall.delay(from: call.start, to: first, "before the first attempt: \(reason)")
      + zip(attempts, attempts.dropFirst()).flatMap { attempt, next in
        Waterfall.delay(from: attempt.end, to: next.start, "before the next attempt: \(attempt.reason ?? "resend")")
      }
  }

  /// The attempts so far, made of the events.
  func attempts(of call: RecordedCall, _ log: CallLog) -> [RecordedCall.Attempt] {
    guard archived.isEmpty else { return archived }
    var attempts: [RecordedCall.Attempt] = []
    for timed in events {
      let (time, event) = (timed.time, timed.event)
      if case .attempt(let number, let request) = event {
        let date = log.began + time.inMilliseconds / 1000
        let attempt = HARAttempt(
          number, of: call.id, request, at: (date, Stopwatch(ContinuousClock())), bodyLimit: log.bodyLimit)
        attempts.append(RecordedCall.Attempt(live: attempt, start: time))
      } else {
        attempts.indices.last.map { attempts[$0].update(event, at: time) }
      }
    }
    for bodies in earlier + [current] {
      attempts.lastIndex { $0.live?.number == bodies.attempt }.map { attempts[$0].add(bodies) }
    }
    if end == nil { attempts.indices.last.map { attempts[$0].stop(at: log.elapsed) } }
    return attempts
  }
}

extension RecordedCall.Body {
  /// Adds bytes as long as it is within the limit, and returns by how much its memory has grown.
  fileprivate mutating func add(_ chunk: Data, limit: Int) -> Int {
    let taken = min(chunk.count, max(0, limit - bytes.count))
    skipped += chunk.count - taken
    guard taken > 0 else { return 0 }
    let before = memory
    chunk.withUnsafeBytes { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0.prefix(taken))) }
    return memory - before
  }

  private var memory: Int { bytes.isEmpty ? 0 : bytes.capacity + RecordedCall.overhead }
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

  fileprivate mutating func add(_ bodies: RecordedCall.Bodies) {
    codings = bodies.codings
    for (direction, body) in [(Event.Progress.Direction.sent, bodies.sent), (.received, bodies.received)] {
      live?.add(Data(body.bytes), skipping: body.skipped, direction)
      if let progress = body.progress { update(.progress(progress), at: body.time) }
    }
  }

  /// When it ended, since the log began.
  fileprivate var end: Duration {
    start + (live?.length ?? .milliseconds(max(0, archived?.entry.time ?? 0)))
  }

  fileprivate mutating func stop(at time: Duration) { live?.stop(at: time - start) }

  /// The attempt as an entry of an archive, with its secrets replaced.
  func entry(_ redaction: Redaction) -> HAR.Entry? {
    archived?.entry ?? live?.entry(reason: reason, error: error, redaction: redaction)
  }
}

extension HTTPRequest {
  /// The request without its body in memory, which may have any size, but with the fields that describe it. The
  /// attempts have the beginning of the body.
  fileprivate var withoutBody: HTTPRequest {
    guard !body.isEmpty else { return self }
    var copy = addingBodyFields()
    copy.body = .empty
    return copy
  }
}
