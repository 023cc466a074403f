#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The loop's part of an exchange: it passes on what a connection receives, limits it, and measures it. It does not
/// depend on the version of HTTP.
///
/// It is also the timer that limits the server's silence: every request needs one, and a separate timer would take
/// another allocation. The timer stops when the transfer ends.
final class LoopTransfer: HeapTimer {
  let exchange: Exchange
  let transport: TransportCore
  /// The connection that sends the request; nil while it waits for one.
  private(set) var connection: Connection?
  var indices = Indices()
  /// The key of the connection that it uses or waits for.
  var key: ConnectionKey
  /// The current phase, for errors.
  private(set) var phase = HTTPError.Phase.resolving
  /// Whether the final response's head was received.
  private(set) var hasHead = false
  private(set) var isEnded = false
  /// Whether the connection does not read because the reader is slow; no timeout applies then.
  private(set) var isPaused = false
  var failures: ConnectionFailures
  // SAFETY: as for `TransportCore`.
  @exclusivity(unchecked) var upload = UploadProgress()
  /// Ends the wait of the body for a 100 response when its time is up; nil if the body does not wait.
  private var hold: HeapTimer?
  /// Whether a 100 response has arrived.
  private(set) var isContinued = false
  @exclusivity(unchecked) private(set) var timing: TransferTiming

  var lastActivity: UInt64
  /// When the connection was last tested because of ``Exchange/Settings/ping``.
  var lastPing: UInt64 = 0
  /// Whether the reading task is still answering a question: that time does not count as the server's silence.
  var isAsking = false
  // SAFETY: as for `TransportCore`.
  @exclusivity(unchecked) private(set) var body = BodyProgress()
  @exclusivity(unchecked) private var buffer: BodyBuffer
  @exclusivity(unchecked) private var undelivered = UndeliveredSignals()
  private var isDirty = false

  /// The positions under which the transport, the pool and the connection keep the transfer. Each of the three writes
  /// only its own.
  struct Indices {
    /// Its index among the transport's transfers.
    var transfer = 0
    /// Its number in the pool while it waits for a connection.
    var waiter: Int?
    /// The number of its stream on the connection; nil over HTTP/1.
    var stream: Int?
  }

  init(_ exchange: Exchange, on transport: TransportCore) {
    self.exchange = exchange
    failures = ConnectionFailures(wasMisdirected: exchange.settings.needsNewConnection)
    key = exchange.destination.key
    self.transport = transport
    lastActivity = transport.loop.now
    timing = TransferTiming(start: transport.loop.now)
    buffer = BodyBuffer(transport.chunks)
    super.init()
    watchSilence()
  }

  override func action() { checkSilence() }

  deinit { buffer.release() }
}

// MARK: - The request

extension LoopTransfer {
  /// Begins to use a connection.
  ///
  /// - Parameter isReused: whether it was open before, or has already sent a request.
  func begin(on connection: Connection, isReused: Bool) {
    self.connection = connection
    phase = .sending
    noteConnection(connection.facts)
    timing.reusedConnection = isReused
    timing.requestStart = transport.loop.now
    if let time = exchange.settings.expectation { holdBody(for: time) }
  }

  /// Records the facts about the connection that it uses or waits for.
  func noteConnection(_ facts: ConnectionFacts?) { timing.connection = facts }

  /// Notes that the whole request was sent.
  func sentRequest() { if phase == .sending { phase = .waiting } }

  /// Whether the body waits for a 100 response (RFC 9110 §10.1.1): none has arrived, and the time is not up.
  var holdsBody: Bool { hold != nil }

  private func holdBody(for time: UInt64) {
    let hold = HeapTimer { [weak self] in self?.releaseBody() }
    transport.loop.set(hold, to: transport.loop.now &+ time)
    self.hold = hold
  }

  private func releaseBody() {
    guard holdsBody else { return }
    stopHoldTimer()
    hold = nil
    connection?.driver?.continueUpload(of: self)
  }

  private func stopHoldTimer() { if let hold { transport.loop.set(hold, to: .max) } }

  /// Prepares for another connection; nothing of a response was received.
  func beginAgain(because cause: ConnectionFailures.Cause) {
    stopHoldTimer()
    hold = nil
    isContinued = false
    connection = nil
    indices.stream = nil
    phase = .resolving
    timing = TransferTiming(start: timing.start)
    failures.add(cause)
    (upload.taken, upload.sent) = (0, 0)
  }
}

// MARK: - The response

extension LoopTransfer {
  /// Notes that the response has begun.
  func noteFirstByte() { if timing.firstByte == nil { timing.firstByte = transport.loop.now } }

  /// Counts received bytes of heads and trailers.
  func count(headBytes: Int) { timing.headerBytesReceived += Int64(headBytes) }

  /// Reports the head of the request, which was written.
  func wrote(_ lines: @autoclosure () -> [UInt8]) {
    if exchange.settings.events.contains(.written) { add(.written(lines())) }
  }

  /// Takes the lines of an informational head.
  func receive(informational lines: [UInt8], status: Int) {
    if status != 100 || exchange.settings.events.contains(.informational) { add(.informational(lines)) }
    guard status == 100 else { return }
    isContinued = true
    releaseBody()
  }

  /// Takes the lines of the final head.
  ///
  /// - Parameter length: the length of the body; nil if it is not known.
  func receive(head lines: [UInt8], length: Int64?) {
    hasHead = true
    phase = .receiving
    stopHoldTimer()  // Without a preceding 100 response, the server does not need the body.
    body.length = length
    reportSent()
    undelivered.head = lines
    markDirty()
    lastActivity = transport.loop.now
    watchSilence()
  }

  /// Takes bytes of the body. Returns false if the transfer has ended before its response: its connection has to be
  /// released.
  func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    body.received += Int64(bytes.count)
    // Discarded bytes do not extend the time in which they have to arrive.
    if let budget = body.discarding {
      body.discarding = budget - bytes.count
      if budget < bytes.count { fail(HTTPError(wrapping: CancellationError())) }
      return !isEnded
    }
    lastActivity = transport.loop.now
    markDirty()
    if takesOver(bytes) { return true }
    var rest = bytes
    while !rest.isEmpty {
      if buffer.isAllocated, buffer.isFull { flushBuffer() }
      guard buffer.isAllocated || buffer.allocate(bodySize: size(for: rest.count)) else {
        fail(HTTPError(.other, "\(exchange.peer): there is no memory for the response's body", phase: .receiving))
        return false
      }
      rest = buffer.append(rest)
    }
    return true
  }

  /// Delivers many received bytes in the memory that holds them, so that neither they nor the bytes that follow are
  /// copied. Returns false if they have to be copied.
  private func takesOver(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !buffer.isAllocated, bytes.count >= Self.smallestTakenOver else { return false }
    let length = size(for: bytes.count)
    if let length, !BodyBuffer.usesChunk(bodySize: length) { return false }
    let memory = transport.receiveMemory
    guard memory.hasRoom(after: bytes, for: (length ?? bytes.count) - bytes.count),
      let chunk = memory.giveAway()
    else { return false }
    buffer.adopt(chunk, with: bytes, bodySize: length)
    return true
  }

  /// Copying a short remainder is cheaper than replacing its buffer.
  private static let smallestTakenOver = 32 << 10

  /// Returns memory into which the next bytes of a body can be received without a later copy. It may be larger than the
  /// `missing` rest of the body. nil if the bytes have to be passed to ``receive(body:)``.
  func bodyMemory(forMissing missing: Int64) -> UnsafeMutableRawBufferPointer? {
    guard !isEnded, body.discarding == nil, body.received > 0 else { return nil }
    if buffer.isAllocated, buffer.room.count < min(Int(clamping: missing), Self.minimumRoom) { flushBuffer() }
    guard buffer.isAllocated || buffer.allocate(bodySize: nil, chunk: chunkSize(forMissing: missing)) else {
      return nil
    }
    return buffer.room
  }

  /// Returns the size of the next chunk: a large one if the body filled the last chunk and enough of it is missing.
  private func chunkSize(forMissing missing: Int64) -> ChunkPool.Size {
    body.lastChunkSize >= ChunkPool.Size.usual.count && missing >= ChunkPool.Size.large.count ? .large : .usual
  }

  /// If a chunk has less room left than this, and less than the rest of the body needs, the next chunk begins.
  private static let minimumRoom = 16 << 10

  /// Takes `count` bytes that were received into ``bodyMemory(forMissing:)``.
  func receive(inBodyMemory count: Int) {
    guard count > 0 else { return buffer.count == 0 ? buffer.release() : () }
    buffer.addFilled(count)
    body.received += Int64(count)
    lastActivity = transport.loop.now
    markDirty()
  }

  /// Takes the end of the response, which is complete.
  func receiveEnd(trailers: [UInt8]) {
    if let lines = undelivered.head, undelivered.signals.isEmpty {
      undelivered.head = nil
      return finish(.whole(lines, buffer.take() ?? Data(), trailers: trailers))
    }
    finish(.end(trailers: trailers))
  }

  /// Ends it with an error, which also says how many times it was sent again.
  func fail(_ error: HTTPError) {
    var error = tellingWait(error)
    if failures.count > 0 { error.replacements += failures.count }
    finish(.failed(error))
  }

  /// Ends it with an error about this peer, in the current phase.
  func fail(_ kind: HTTPError.Kind, _ message: String, delivery: HTTPError.Delivery = .unknown) {
    var error = HTTPError(kind, "\(exchange.peer): \(message)", phase: phase)
    error.delivery = delivery
    fail(error)
  }

  /// Pauses the transfer if its reader is slow; the reader resumes it. Returns whether to stop receiving the body for
  /// now.
  func pauseIfNeeded() -> Bool {
    guard !isEnded, hasHead, body.discarding == nil else { return false }
    if exchange.signals.pauseIfFull(adding: undelivered.bytes + buffer.count) { isPaused = true }
    return isPaused
  }

  /// Reads on: the reader wants more.
  func resumeReading() {
    guard isPaused else { return }
    isPaused = false
    lastActivity = transport.loop.now
    watchSilence()
    connection?.driver?.resumeReading(for: self)
  }

  /// Returns the size of one buffer: for the whole body if it is delivered in one piece, otherwise for a chunk.
  private func size(for count: Int) -> Int? {
    guard let length = body.length, undelivered.bytes == 0, body.received == Int64(count), length >= Int64(count),
      length <= exchange.settings.wholeBody
    else { return nil }
    return Int(length)
  }
}

// MARK: - Its end

extension LoopTransfer {
  /// Ends the transfer, whose reader has stopped. A short rest of the body is still received, so that the connection
  /// can be reused.
  func cancel() { if !startDiscarding() { transport.end(self, with: HTTPError(wrapping: CancellationError())) } }

  /// Begins to discard the rest of the body. Returns false if its length is too large or unknown, or if the request has
  /// a body.
  private func startDiscarding() -> Bool {
    guard hasHead, !exchange.hasBody, let length = body.length, length - body.received <= Self.discardLimit
    else { return false }
    body.discarding = Self.discardLimit
    lastActivity = transport.loop.now
    buffer.release()
    watchSilence()
    resumeReading()
    return true
  }

  /// The maximum number of bytes of an abandoned response that are still received.
  private static let discardLimit = 64 << 10

  private func finish(_ last: consuming ResponseSignal) {
    guard !isEnded else { return }
    isEnded = true
    transport.loop.set(self, to: .max)
    stopHoldTimer()
    reportSent()
    flushBuffer()
    flushHead()
    undelivered.last = last.measured(metrics)
    exchange.upload?.close()
    connection = nil
    transport.forget(self)
    markDirty()
  }

  /// How long each completed phase took; nil if no listener receives it.
  var metrics: TransferMetrics? {
    guard exchange.settings.events.contains(.metrics) else { return nil }
    var metrics = timing.metrics(until: transport.loop.now)
    metrics.bytesSent = upload.sent
    metrics.bytesReceived = body.received
    return metrics
  }
}

// MARK: - Delivery

extension LoopTransfer {
  /// Delivers the signals of this turn.
  func flush() {
    isDirty = false
    if isAlmostWhole { return }
    reportSent()
    flushBuffer()
    flushHead()
    if let last = undelivered.last.take() {
      if undelivered.signals.isEmpty { return exchange.signals.push(last) }
      undelivered.signals.append(last)
    }
    guard !undelivered.signals.isEmpty else { return }
    if undelivered.signals.count == 1 {
      exchange.signals.push(undelivered.signals[0])
    } else {
      exchange.signals.push(undelivered.signals)
    }
    undelivered.signals.removeAll(keepingCapacity: !isEnded)
    undelivered.bytes = 0
  }

  /// Whether delivery can wait for the rest of a small body. The caller is then resumed once, with head and body. That
  /// requires a caller that collects the body, and no listener for heads, which would receive the head at once.
  private var isAlmostWhole: Bool {
    guard !isEnded, hasHead, !exchange.settings.events.contains(.response), let length = body.length else {
      return false
    }
    return length <= min(exchange.settings.wholeBody, Self.waitedBodyLimit) && body.received < length
  }

  private static let waitedBodyLimit: Int64 = 256 << 10

  private func reportSent() {
    guard exchange.settings.events.contains(.progress), upload.sent != upload.reported else { return }
    upload.reported = upload.sent
    undelivered.signals.append(.sent(upload.sent))
  }

  func add(_ signal: ResponseSignal) {
    reportSent()
    undelivered.signals.append(signal)
    markDirty()
  }

  private func flushBuffer() {
    guard let data = buffer.take() else { return }
    flushHead()
    undelivered.bytes += data.count
    body.lastChunkSize = data.count
    undelivered.signals.append(.chunk(data))
  }

  /// Delivers the head before the rest of the response.
  private func flushHead() {
    guard let lines = undelivered.head else { return }
    undelivered.head = nil
    var metrics = metrics
    metrics?.bytesReceived = 0  // The reader counts the bytes that it gets.
    undelivered.signals.append(.head(lines).measured(metrics))
  }

  func markDirty() {
    if isDirty { return }
    isDirty = true
    transport.turn.transfers.append(self)
  }
}
#endif
