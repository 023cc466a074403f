import CSockets
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Commands that are sent together, with one caller that waits for their answers.
final class RedisRequest: Sendable {
  /// The commands as they are sent; empty once they are written.
  private let bytes: Mutex<[UInt8]>
  let count: Int
  let limit: Duration
  /// The maximum number of bytes of each answer.
  let answerLimit: Int
  let answers = OneShot<[RedisReply]>()

  init(_ commands: [RedisCommand], within limit: Duration) {
    var bytes: [UInt8] = []
    for command in commands { command.write(to: &bytes) }
    self.bytes = Mutex(bytes)
    (count, self.limit) = (commands.count, limit)
    answerLimit = commands.reduce(0) { max($0, $1.answerLimit) }
  }

  /// Returns the commands as they are sent, and forgets them: waiting for an answer needs no copy.
  func takeBytes() -> [UInt8] {
    bytes.withLock { bytes in
      defer { bytes = [] }
      return bytes
    }
  }
}

/// The thread of a client. Over one connection, it sends the requests of all callers one after another without waiting
/// for answers in between. It is not `Sendable`: code that has it runs on its thread.
///
/// A request fails when its limit is reached, and a later answer is dropped. Requests that wait while a connection is
/// being made have the same limits.
final class RedisLoop {
  private let queue: JobQueue<RedisLoop>
  private let configuration: RedisConfiguration
  /// Whether the client avoids the server, readable by callers without asking the thread.
  private let rests: SharedFlag
  private var breaker: RedisBreaker
  private var link: RedisLink?
  private var isOpening = false
  private var restsUntil: Duration?
  private var isStopped = false
  /// The requests that wait for a connection.
  private var waiting: [RedisRequest] = []
  /// The written requests, in the order of the answers, and the answers to the first so far.
  private var sent = Line<RedisRequest>()
  private var answers: [RedisReply] = []
  private var unsent: [UInt8] = []
  private var limits: [(limit: Duration, line: Line<(due: Duration, request: RedisRequest)>)] = []
  private var lastUse = Duration.zero
  /// The last test whether the connection still exists.
  private var ping: RedisRequest?
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)

  /// The maximum number of bytes that wait to be sent, so that a slow connection does not use up memory.
  private static let unsentLimit = 64 << 20

  init(_ configuration: RedisConfiguration, queue: JobQueue<RedisLoop>, rests: SharedFlag) {
    (self.configuration, self.queue, self.rests) = (configuration, queue, rests)
    breaker = RedisBreaker(configuration)
  }

  deinit { room.deallocate() }

  /// Performs the requests of callers, and reads and writes, until ``stop()``.
  func run() {
    var jobs: [JobQueue<RedisLoop>.Job] = []
    while !isStopped {
      queue.drain(into: &jobs)
      let mayWait = jobs.isEmpty && queue.mayFallAsleep()
      let isReadable = waitForEvents(until: mayWait ? nextTimer : .zero)
      if mayWait { queue.awake() }
      if isReadable { receive() }
      for job in jobs { job(self) }
      jobs.removeAll(keepingCapacity: true)
      checkTimers()
      flush()
    }
  }

  /// Fails all requests and ends the thread.
  func stop() {
    isStopped = true
    failAll(RedisError(.closed, "the Redis client was closed"))
    link = nil
  }

  /// Sends a request, or lets it wait for the connection that is being made.
  func add(_ request: RedisRequest) {
    let now = Self.now
    guard !isStopped, restsUntil == nil, unsent.count < Self.unsentLimit else {
      _ = request.answers.answer(.failure(Self.leftAlone(configuration)))
      return
    }
    note(request, due: now + request.limit)
    lastUse = now
    if link != nil { write(request) } else { wait(request) }
  }

  static func leftAlone(_ configuration: RedisConfiguration) -> RedisError {
    RedisError(
      .unavailable,
      "\(configuration) did not answer in time, could not be reached or is too slow, and is left alone for a while")
  }

  // MARK: - The connection

  private func wait(_ request: RedisRequest) {
    waiting.append(request)
    open()
  }

  private func open() {
    guard !isOpening else { return }
    isOpening = true
    RedisOpening.start(configuration) { [queue] result in queue.submit { $0.opened(result) } }
  }

  private func opened(_ result: Result<RedisLink, RedisError>) {
    isOpening = false
    guard !isStopped else { return }
    switch result {
    case .success(let link):
      self.link = link
      setRest(nil)
      lastUse = Self.now
      for request in waiting { write(request) }
      waiting = []
    case .failure(let error):
      setRest(breaker.failedToConnect(jitter: .random(in: 0...1)))
      failAll(error)
    }
  }

  /// Gives up a connection that no longer answers.
  private func lose(_ error: RedisError) {
    let hadWork = !sent.isEmpty
    failAll(error)
    guard hadWork else { return }
    if let rest = breaker.lostConnection(at: Self.now, jitter: .random(in: 0...1)) { setRest(rest) }
  }

  private func failAll(_ error: RedisError) {
    link = nil
    unsent = []
    answers = []
    let failed = waiting + sent.removeAll()
    waiting = []
    for request in failed { request.answers.answer(.failure(error)) }
  }

  private func setRest(_ rest: Duration?) {
    restsUntil = rest.map { Self.now + $0 }
    rests.value.store(rest != nil, ordering: .releasing)
  }

  // MARK: - Time

  /// The time in seconds on a clock that only goes forward.
  static var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  private func note(_ request: RedisRequest, due: Duration) {
    let index = limits.firstIndex { $0.limit == request.limit } ?? limits.count
    if index == limits.count { limits.append((request.limit, Line())) }
    limits[index].line.append((due, request))
  }

  /// nil if only callers can wake the loop.
  private var nextTimer: Duration? {
    var times = limits.compactMap { $0.line.first?.due }
    if let restsUntil, !isOpening { times.append(restsUntil) }
    if let pingDue { times.append(pingDue) }
    return times.min()
  }

  /// When the connection is to be tested; nil without one, and while a test waits for its answer.
  private var pingDue: Duration? {
    guard link != nil, ping?.answers.isAnswered ?? true else { return nil }
    return lastUse + max(.milliseconds(1), configuration.pingInterval)
  }

  private func checkTimers() {
    let now = Self.now
    for index in limits.indices { expire(at: index, now) }
    limits.removeAll { $0.line.isEmpty }
    if let restsUntil, restsUntil <= now { open() }
    if let pingDue, pingDue <= now {
      let request = RedisRequest([RedisCommand("PING").answeredBriefly], within: configuration.connectTimeout)
      ping = request
      add(request)
    }
  }

  /// Fails the requests whose limit is reached, and drops answered ones. Answers come in the order of the requests, so
  /// that looking at the first is enough: those behind an unanswered one wait for their answers, too.
  private func expire(at index: Int, _ now: Duration) {
    while let (due, request) = limits[index].line.first {
      let isAnswered = request.answers.isAnswered
      guard isAnswered || due <= now else { return }
      limits[index].line.removeFirst()
      if isAnswered { continue }
      let error = RedisError(.timeout, "\(configuration) did not answer within \(Quantity.text(request.limit))")
      guard request.answers.answer(.failure(error)), restsUntil == nil else { continue }
      if request === ping {
        lose(error)
        continue
      }
      guard let rest = breaker.timedOut(at: now, jitter: .random(in: 0...1)) else { continue }
      setRest(rest)
      failAll(Self.leftAlone(configuration))
    }
  }

  // MARK: - Bytes

  private func write(_ request: RedisRequest) {
    unsent += request.takeBytes()
    sent.append(request)
  }

  private func flush() {
    guard let link, !unsent.isEmpty else { return }
    do throws(RedisError) { try link.send(&unsent) } catch { lose(error) }
  }

  /// Receives once a turn, so that a large answer does not delay limits and other callers.
  private func receive() {
    guard let link else { return }
    do throws(RedisError) {
      try link.receive(into: room, nextLimit: { sent.first?.answerLimit }, { receive($0) })
    } catch { lose(error) }
  }

  private func receive(_ reply: RedisReply) {
    guard let request = sent.first else { return }
    answers.append(reply)
    guard answers.count == request.count else { return }
    sent.removeFirst()
    if request.answers.answer(.success(answers)) { breaker.succeeded() }
    answers = []
  }

  /// Waits for the descriptor that wakes the loop, and for the connection.
  ///
  /// - Returns: whether there is something to receive.
  private func waitForEvents(until time: Duration?) -> Bool {
    let interest = Int16(POLLIN) | (unsent.isEmpty ? 0 : Int16(POLLOUT))
    var watched = [
      pollfd(fd: queue.wakeUp, events: Int16(POLLIN), revents: 0),
      pollfd(fd: link?.descriptor ?? -1, events: interest, revents: 0),
    ]
    poll(&watched, 2, Self.milliseconds(until: time))
    if watched[0].revents != 0 {
      var count: UInt64 = 0
      _ = read(queue.wakeUp, &count, 8)
    }
    return watched[1].revents & ~Int16(POLLOUT) != 0
  }

  /// The time until then, rounded up; -1 for no limit.
  static func milliseconds(until time: Duration?) -> Int32 {
    guard let time else { return -1 }
    guard time > .zero else { return 0 }
    return Int32(clamping: Int(max(0, ((time - now).bounded / .milliseconds(1)).rounded(.up))))
  }
}

/// A flag that several threads read.
final class SharedFlag: Sendable {
  let value = Atomic(false)
}

/// Elements that are removed in the order in which they were added, in constant time.
struct Line<Element> {
  /// A removed element is nil until there are enough of them to move the others, so that its memory is free at once.
  private var elements: [Element?] = []
  private var start = 0

  var isEmpty: Bool { start == elements.count }
  var first: Element? { isEmpty ? nil : elements[start] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func removeFirst() {
    elements[start] = nil
    start += 1
    guard start == elements.count || start > 512 && start * 2 > elements.count else { return }
    elements.removeFirst(start)
    start = 0
  }

  mutating func removeAll() -> [Element] {
    defer { (elements, start) = ([], 0) }
    return elements[start...].compactMap { $0 }
  }
}
