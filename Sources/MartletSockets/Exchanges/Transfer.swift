#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The loop's part of an exchange: it passes on what a connection receives, limits it, and measures it. It does not
/// depend on the version of HTTP.
final class Transfer {
  let exchange: Exchange
  private let network: Network
  /// The connection that sends the request; nil while it waits for one.
  var connection: Connection?
  /// Its number while it waits for a connection.
  var waiter: Int?
  /// What the connection that it waits for, or has, serves.
  var key: ConnectionKey
  /// How far it is, for errors.
  var phase = HTTPError.Phase.resolving
  /// Whether the final response's head was received.
  private(set) var hasHead = false
  private(set) var isEnded = false
  /// Whether the connection does not read, because the reader is slow: then no timeout applies.
  private(set) var isPaused = false
  /// How often the request was sent over a connection that turned out to be stale.
  private(set) var staleCount = 0
  /// How often it was given a connection that could not send anything of it.
  private(set) var unsentCount = 0
  /// Whether it had a connection already.
  var isAgain: Bool { staleCount + unsentCount > 0 }
  /// Whether it needs a connection that has not served before (RFC 9112 §9.3.1).
  var needsNewConnection: Bool { staleCount > 0 }
  /// The chunk of the request's body that is being sent.
  var chunk = Data()
  /// How many bytes of ``chunk`` were sent.
  var chunkOffset = 0
  /// How many bytes of the request's body were taken from its source.
  private var taken: Int64 = 0
  /// Whether the source of the request's body was told to stop: it cannot be sent again.
  private var hasClosedQueue = false
  var timing: TransferTiming

  /// Its place among the network's transfers.
  var index = 0
  private lazy var timer = LoopTimer { [unowned self] in checkSilence() }  // its end cancels it
  private var lastActivity: UInt64
  /// Whether the reading task was asked something and has not answered: that is not the server's silence.
  private var isAsking = false
  /// After the reader has stopped: how many bytes of the body may still be read and dropped, so that the connection
  /// stays usable.
  private var discarding: Int?
  /// The length of the response's body; nil if it is not known.
  private var responseLength: Int64?
  private var buffer: BodyBuffer
  private var undelivered: [TransferSignal] = []
  private var undeliveredBytes = 0
  private var isDirty = false
  private var received: Int64 = 0
  private var sent: Int64 = 0
  private var reportedSent: Int64 = 0

  init(_ exchange: Exchange, on network: Network) {
    self.exchange = exchange
    key = exchange.way.key
    self.network = network
    lastActivity = network.loop.now
    timing = TransferTiming(start: network.loop.now)
    buffer = BodyBuffer(network.chunks)
    watchSilence()
  }

  deinit { buffer.release() }
}

// MARK: - The response

extension Transfer {
  /// Takes the lines of an informational head.
  func receive(informational lines: [UInt8]) {
    guard exchange.limits.isObserved else { return }
    add(.informational(lines))
  }

  /// Takes the lines of the final head.
  ///
  /// - Parameter length: the length of the body; nil if it is not known.
  func receive(head lines: [UInt8], length: Int64?) {
    hasHead = true
    phase = .receiving
    responseLength = length
    add(.head(lines))
    lastActivity = network.loop.now
    watchSilence()
  }

  /// Takes bytes of the body. Returns false if the transfer cannot go on: the connection has to give it up.
  func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    received += Int64(bytes.count)
    // whatever comes then, the time for it is limited
    if let budget = discarding {
      discarding = budget - bytes.count
      return budget >= bytes.count
    }
    lastActivity = network.loop.now
    markDirty()
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

  /// Takes the end of the response, which is complete.
  func receiveEnd(trailers: [UInt8]) {
    if !exchange.limits.isObserved, undelivered.count == 1, case .head(let lines) = undelivered[0] {
      undelivered.removeAll()
      return finish(.whole(lines, buffer.take() ?? Data(), trailers: trailers))
    }
    finish(.end(trailers: trailers))
  }

  /// Ends it with an error.
  func fail(_ error: HTTPError) { finish(.failed(error)) }

  /// Ends it with an error of this peer, in the phase that was reached.
  func fail(_ kind: HTTPError.Kind, _ message: String, delivery: HTTPError.Delivery = .unknown) {
    var error = HTTPError(kind, "\(exchange.peer): \(message)", phase: phase)
    error.delivery = delivery
    fail(error)
  }

  /// Whether no more of the body should be received for now, because the reader is slow. The reader resumes it.
  func pausesReading() -> Bool {
    guard !isEnded, hasHead, discarding == nil else { return false }
    if exchange.signals.isFull(with: undeliveredBytes + buffer.count) { isPaused = true }
    return isPaused
  }

  /// The reader wants more.
  func resumeReading() {
    guard isPaused else { return }
    isPaused = false
    lastActivity = network.loop.now
    watchSilence()
    connection?.resumeReading(for: self)
  }

  /// One buffer for the whole body if it is to be delivered in one piece, and one for a chunk otherwise.
  private func size(for count: Int) -> Int? {
    guard let length = responseLength, undeliveredBytes == 0, received == Int64(count), length >= Int64(count),
      length <= exchange.limits.wholeBody
    else { return nil }
    return Int(length)
  }
}

// MARK: - The request

extension Transfer {
  /// What is to be sent next of the request's body: its rest goes into ``chunk``.
  func nextChunk() -> UploadQueue.Next {
    switch exchange.upload {
    case .none: return .end(trailers: [:])
    case .bytes(let data):
      guard taken == 0 else { return .end(trailers: [:]) }
      taken = Int64(data.count)
      return .chunk(data)
    case .queue(let queue):
      let next = queue.next()
      if case .chunk(let data) = next { taken += Int64(data.count) }
      return next
    }
  }

  /// Copies bytes of ``chunk`` that were not sent yet. Returns how many.
  func copyChunk(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, chunk.count - chunkOffset)
    guard count > 0 else { return 0 }
    let start = chunk.startIndex + chunkOffset
    chunk.copyBytes(to: room, from: start..<(start + count))
    chunkOffset += count
    noteSent(count)
    return count
  }

  /// Whether all bytes of a body of known length were taken from their source, which may not have said yet that it has
  /// ended. Never if trailers follow.
  var hasTakenBody: Bool { exchange.bodyLength == taken && !exchange.request.body.hasTrailers }

  /// Whether they were also sent.
  var hasSentBody: Bool { hasTakenBody && chunkOffset == chunk.count }

  /// Notes that bytes of the request's body were sent.
  func noteSent(_ count: Int) {
    sent += Int64(count)
    lastActivity = network.loop.now
    if exchange.limits.isObserved { markDirty() }
  }

  /// Stops the request's body: the server does not need it.
  func stopUpload() {
    chunk = Data()
    chunkOffset = 0
    guard case .queue(let queue) = exchange.upload else { return }
    queue.close()
    hasClosedQueue = true
  }

  /// Whether the request can be sent from its beginning.
  var canBeginAgain: Bool {
    if case .queue = exchange.upload { taken == 0 && !hasClosedQueue } else { true }
  }

  /// Prepares for another connection: nothing of a response was received.
  func beginAgain(isStale: Bool) {
    connection = nil
    phase = .resolving
    timing = TransferTiming(start: timing.start)
    if isStale { staleCount += 1 } else { unsentCount += 1 }
    chunk = Data()
    chunkOffset = 0
    taken = 0
    sent = 0
  }

  /// Makes the reading task do something before the request goes on.
  func ask(_ question: @escaping @Sendable (Call) async throws -> Void) {
    isAsking = true
    add(.ask(question))
  }

  /// The server is heard again: what it was waited for is decided.
  ///
  /// - Parameter answered: whether that was the answer to ``ask(_:)``.
  func resumeWait(answered: Bool) {
    if answered { isAsking = false }
    guard !isEnded else { return }
    lastActivity = network.loop.now
    watchSilence()
  }

  /// Sends a note to the listeners of the call.
  func tell(_ note: String) {
    if exchange.limits.isObserved { add(.note(note)) }
  }
}

// MARK: - Its end

extension Transfer {
  /// Begins to drop the rest of the body after the reader has stopped, so that the connection can be reused. Returns
  /// false if too much of it is missing.
  func startDiscarding() -> Bool {
    guard hasHead, case .none = exchange.upload, let length = responseLength, length - received <= Self.discardLimit
    else { return false }
    discarding = Self.discardLimit
    lastActivity = network.loop.now
    buffer.release()
    watchSilence()
    resumeReading()
    return true
  }

  /// How many bytes of a response that nobody reads are received, and how long that may take, in nanoseconds.
  private static let discardLimit = 64 << 10
  private static let discardTime: UInt64 = 1_000_000_000

  private func finish(_ last: TransferSignal) {
    guard !isEnded else { return }
    isEnded = true
    network.loop.set(timer, to: .max)
    reportSent()
    flushBuffer()
    addMetrics()
    undelivered.append(last)
    if case .queue(let queue) = exchange.upload { queue.close() }
    connection = nil
    network.ended(self)
    markDirty()
  }

  /// Reports how long the phases took, as far as they were reached.
  func addMetrics() {
    guard exchange.limits.isObserved else { return }
    var metrics = timing.metrics(until: network.loop.now)
    metrics.bytesSent = sent
    metrics.bytesReceived = received
    undelivered.append(.metrics(metrics))
  }
}

// MARK: - Delivery

extension Transfer {
  /// Delivers the signals of this turn.
  func flush() {
    isDirty = false
    if isAlmostWhole { return }
    reportSent()
    flushBuffer()
    guard !undelivered.isEmpty else { return }
    if undelivered.count == 1 { exchange.signals.push(undelivered[0]) } else { exchange.signals.push(undelivered) }
    undelivered.removeAll(keepingCapacity: !isEnded)
    undeliveredBytes = 0
  }

  /// Whether delivery can wait for the rest of a small body: the caller collects it and the call has no listeners, so
  /// that the caller is resumed once, with head and body.
  private var isAlmostWhole: Bool {
    guard !isEnded, hasHead, !exchange.limits.isObserved, let responseLength else { return false }
    return responseLength <= min(exchange.limits.wholeBody, Self.longestWait) && received < responseLength
  }

  private static let longestWait: Int64 = 256 << 10

  private func reportSent() {
    guard exchange.limits.isObserved, sent != reportedSent else { return }
    reportedSent = sent
    undelivered.append(.sent(sent))
  }

  private func add(_ signal: TransferSignal) {
    reportSent()
    undelivered.append(signal)
    markDirty()
  }

  private func flushBuffer() {
    guard let data = buffer.take() else { return }
    undeliveredBytes += data.count
    undelivered.append(.chunk(data))
  }

  private func markDirty() {
    if isDirty { return }
    isDirty = true
    network.dirty.append(self)
  }
}

// MARK: - Silence

extension Transfer {
  /// The longest silence that is allowed now.
  private var timeout: UInt64? {
    discarding != nil ? Self.discardTime : hasHead ? exchange.limits.idle : exchange.limits.response
  }

  private func watchSilence() {
    guard let timeout else { return network.loop.set(timer, to: .max) }
    network.loop.set(timer, to: lastActivity + timeout)
  }

  /// Called when the timeout may be over.
  private func checkSilence() {
    guard !isEnded, !isPaused, !isAsking, let timeout else { return }  // the answer sets the timer again
    // silence does not count while the reader does not wait for more
    let now = network.loop.now
    let reader = hasHead && discarding == nil ? exchange.signals.waitingSince ?? now : 0
    let due = max(lastActivity, reader) + timeout
    guard due <= now else { return network.loop.set(timer, to: due) }
    let limit = Duration.nanoseconds(Int64(clamping: timeout))
    let (phase, reason) =
      connection == nil
      ? network.reasonOfWait(of: self) : (phase, "no data was received while \(phase.rawValue)")
    let message = "\(exchange.peer): the time limit of \(limit) is over: \(reason)"
    network.giveUp(self, HTTPError(hasHead ? .idleTimeout : .responseTimeout, message, phase: phase))
  }
}
#endif
