#if os(Linux)
import CCurl
import Glibc
@_spi(Transports) import MartletEngine
import MartletSemantics

/// One transfer of libcurl: a request, its response, and the state of libcurl's callbacks.
///
/// It is made and configured by the calling task, then submitted; from then on every `var` belongs to the loop thread.
/// The caller still uses ``signals`` and ``upload``, which have locks of their own.
final class Transfer: @unchecked Sendable {  // SAFETY: handed over once through the JobQueue, as said above.
  let handle: EasyHandle
  let signals: SignalQueue<TransferSignal>
  let upload: Upload
  let limits: Limits
  let headerLines: UnsafeMutablePointer<curl_slist>?

  /// The limits of a request, and what its transfer needs to know about it.
  struct Limits: Sendable {
    /// The longest silence before the response's head, in nanoseconds; nil for no limit.
    var response: UInt64?
    /// The longest silence after the head, in nanoseconds; nil for no limit.
    var idle: UInt64?
    /// The most bytes of all heads and trailers.
    var headerBytes: Int
    /// The longest body that is delivered in one piece, because its caller collects it; 0 if the caller does not.
    var wholeBody: Int64
    /// The statuses that libcurl may handle itself: such a response is not known to be the final one before its body
    /// comes.
    var provisional: Set<Int>
    /// What the listeners of the call receive.
    var events: EventKinds
    /// Whether libcurl may send the request again if its connection was stale.
    var mayRepeat: Bool
    /// The request's method.
    var method: HTTPMethod
    /// Whether the request has an `Upgrade` field.
    var allowsUpgrade: Bool
    /// The origin of the URL.
    var origin: Origin
    /// Whether HTTP/2 is used without negotiation.
    var assumesHTTP2: Bool
    /// Whether the connection is used for this request only.
    var ownsConnection: Bool
    /// The servers that the caller's check did not refuse; nil if there is no check.
    var checked: CheckedServers?
  }

  /// Called when there is something to deliver at the end of this turn of the loop.
  var onDirty: ((Transfer) -> Void)?
  /// When bytes last came or were sent, on the loop's clock in nanoseconds.
  var lastActivity: UInt64 = 0
  /// Whether the final response's head has come.
  private(set) var hasHead = false
  /// Whether the transfer is paused because its reader is slow: then no timeout applies.
  var isPausedByReader = false
  /// The reason why a callback made libcurl end the transfer.
  var failure: HTTPError?
  /// The loop's connections.
  var connections: ConnectionTable?
  /// The connection over which the request was sent last.
  var connection: Connection?
  /// Whether sending the request has begun.
  var isSent = false
  /// How often it was sent again.
  var sendCount = 0
  /// The request's stream on its connection, over HTTP/2.
  var streamID: Int?
  /// Whether the server refused the stream.
  var wasRefused = false
  /// Whether the response ended, without an error, before the request's body was sent over HTTP/2.
  var endedBeforeUpload = false
  /// Whether libcurl closed an idle connection because it had too many.
  var sawEviction = false
  /// Whether libcurl keeps the connection open; it never does if the connection failed.
  var leftConnectionIntact = false
  /// Whether the transfer has to be restarted on a new connection. Nothing was sent yet.
  var wantsFreshConnection = false
  /// Whether it was restarted.
  private(set) var hasFreshConnection = false
  /// After the reader has stopped: how many bytes of the body may still be read and discarded, so that the connection
  /// stays usable.
  private var discarding: Int?

  private var reader: ResponseHeadReader
  private var heldHead: [UInt8]?
  /// The signals of this turn that were not delivered yet.
  private var undelivered: [TransferSignal] = []
  private var undeliveredBytes = 0
  private var isDirty = false
  private var received: Int64 = 0
  private var sent: Int64 = 0
  private var reportedSent: Int64 = 0
  private var watchedSent: Int64 = 0
  /// Whether the final response's status and method allow a body.
  private(set) var mayHaveBody = true
  private var buffer: BodyBuffer
  /// What was taken from the queue of the request's body, and is still to be sent.
  private var chunk = Data()

  init(
    handle: EasyHandle, signals: SignalQueue<TransferSignal>, upload: Upload, limits: Limits,
    headerLines: UnsafeMutablePointer<curl_slist>?, chunks: ChunkPool
  ) {
    self.handle = handle
    self.signals = signals
    self.upload = upload
    self.limits = limits
    self.headerLines = headerLines
    buffer = BodyBuffer(chunks)
    reader = ResponseHeadReader(answering: limits.method, allowsUpgrade: limits.allowsUpgrade)
  }

  deinit {
    curl_slist_free_all(headerLines)
    buffer.release()
  }
}

// MARK: - Called by libcurl

extension Transfer {
  /// Takes one line of a head or of the trailers. Returns the number of its bytes; any other number makes libcurl fail.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
    markDirty()
    do throws(MessageFault) {
      try take(line)
    } catch {
      failure = HTTPError(
        .protocolViolation, "\(CurlFailure.peer(of: handle)): \(error)", phase: hasHead ? .receiving : .waiting)
    }
    return failure == nil ? line.count : 0
  }

  private func take(_ line: UnsafeRawBufferPointer) throws(MessageFault) {
    let event = try reader.take(line, isHTTP2: isHTTP2(line))
    if reader.byteCount > limits.headerBytes {
      let message = "the response's heads are larger than \(limits.headerBytes) bytes"
      failure = HTTPError(
        .headersTooLarge, "\(CurlFailure.peer(of: handle)): \(message)", phase: hasHead ? .receiving : .waiting)
      return
    }
    switch event {
    case .none: break
    case .informational(let block):
      if limits.events.contains(.informational) { undelivered.append(.informational(block)) }
    case .final(let block, let status, let framing):
      connection?.version = block.starts(with: "HTTP/2".utf8) ? .http2 : .http1_1
      if Self.closes(block) { handle.set(CURLOPT_FORBID_REUSE, 1) }
      // not needed for a body with a length: libcurl closes the connection itself if more comes
      if framing == .none || framing == .chunked { handle.set(CURLOPT_VERBOSE, 1) }
      mayHaveBody = limits.method != .head && status != 204 && status != 304
      heldHead = block
      if !limits.provisional.contains(status) { releaseHead() }
    }
  }

  /// Whether an HTTP/1.0 response ends a connection that libcurl would keep open because of `keep-alive`: it also has
  /// `close` (RFC 9112 §9.3), or a `Transfer-Encoding`, whose framing is not reliable in HTTP/1.0 (§6.1).
  private static func closes(_ block: [UInt8]) -> Bool {
    guard block.starts(with: "HTTP/1.0".utf8) else { return false }
    let fields = ResponseHead(lines: block).fields
    return fields.contains(.transferEncoding)
      || fields.list(.connection).contains { ASCII.equalIgnoringCase($0, "close") }
  }

  /// Whether the line belongs to an HTTP/2 message. If the version of the connection is not known yet, the line itself
  /// shows it.
  private func isHTTP2(_ line: UnsafeRawBufferPointer) -> Bool {
    connection?.version.map { $0 == .http2 } ?? line.starts(with: "HTTP/2".utf8)
  }

  /// Takes bytes of the response's body. Returns their number; any other number makes libcurl pause or fail.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    if let budget = discarding {
      discarding = budget - bytes.count
      return budget < bytes.count ? 0 : bytes.count
    }
    guard hasHead || isHoldingHead else {
      failure = HTTPError(
        .protocolViolation, "\(CurlFailure.peer(of: handle)): the response has no head", phase: .waiting)
      return 0
    }
    releaseHead()
    markDirty()
    guard !signals.isFull(with: undeliveredBytes + buffer.count) else {
      isPausedByReader = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    received += Int64(bytes.count)
    var rest = bytes
    while !rest.isEmpty {
      if buffer.isFull { flushBuffer() }
      guard buffer.isAllocated || allocateBuffer(for: rest.count) else {
        failure = HTTPError(.other, "there is no memory for the response's body", phase: .receiving)
        return 0
      }
      rest = buffer.append(rest)
    }
    return bytes.count
  }

  /// Copies bytes of the request's body into libcurl's buffer. Returns their number; 0 is the end of the body.
  func sendBody(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count: Int
    switch upload {
    case .none: return 0
    case .bytes(let data):
      count = min(room.count, data.count - Int(sent))
      let start = data.startIndex + Int(sent)
      data.copyBytes(to: room, from: start..<(start + count))
    case .queue(let queue):
      guard let copied = copy(from: queue, into: room) else { return Int(CURL_READFUNC_PAUSE) }
      count = copied
    }
    sent += Int64(count)
    markDirty()
    return count
  }

  /// Copies bytes of a queue. Returns their number, 0 at the end, and nil if there are none yet.
  private func copy(from queue: UploadQueue, into room: UnsafeMutableRawBufferPointer) -> Int? {
    var count = 0
    while count < room.count {
      if chunk.isEmpty {
        switch queue.next() {
        case .chunk(let next): chunk = next
        case .nothingYet: return count == 0 ? nil : count
        case .end: return count
        }
      }
      let part = chunk.prefix(room.count - count)
      part.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: room[count...]))
      chunk = chunk.dropFirst(part.count)
      count += part.count
    }
    return count
  }

  /// Continues the request's body at an offset. Returns false if its bytes are not in memory and the offset is another
  /// one than the current.
  func rewindBytes(to offset: Int64) -> Bool {
    if case .bytes = upload {
      sent = offset
      return true
    }
    return sent == offset
  }

  /// Sends a note to the listeners of the call.
  func tell(_ note: String) {
    guard limits.events.contains(.note) else { return }
    undelivered.append(.note(note))
    markDirty()
  }
}

// MARK: - Called by the loop

extension Transfer {
  /// Delivers the signals of this turn.
  func flush() {
    isDirty = false
    if isAlmostWhole { return }
    reportSent()
    if !buffer.isIncompleteBody { flushBuffer() }
    deliver()
  }

  /// Delivers the remaining signals and the last one.
  func finish(_ last: TransferSignal) {
    if case .end = last { releaseHead() }
    reportSent()
    flushBuffer()
    undelivered.append(last.measured(metrics(before: last)))
    deliver()
    isDirty = true  // so that nothing is delivered after the last signal
    if case .queue(let queue) = upload { queue.close() }
  }

  /// Whether a complete head has come that may not be the final one.
  var isHoldingHead: Bool { heldHead != nil }

  /// Resets the transfer, so that it begins again on a new connection.
  func restart() {
    wantsFreshConnection = false
    hasFreshConnection = true
    isSent = false
    leftConnectionIntact = false
    leaveConnection()
    handle.startAfresh()
  }

  /// Discards the head, which was not the final one: libcurl sends the request again by itself.
  func restartHead() {
    heldHead = nil
    reader.restart()
  }

  /// The raw trailer lines.
  var trailers: [UInt8] { reader.trailers }

  /// Whether more of the request's body was sent since the last call.
  func hasSentMore() -> Bool {
    defer { watchedSent = sent }
    return sent != watchedSent
  }

  /// Begins to discard the rest of the body after the reader has stopped, so that the connection can be reused. Returns
  /// false if too much of it is missing.
  func startDiscarding() -> Bool {
    let length = handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    let rest = length - handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
    guard hasHead, length >= 0, rest <= 64 << 10, case .none = upload else { return false }
    discarding = 64 << 10
    buffer.release()
    return true
  }

  var isDiscarding: Bool { discarding != nil }

  /// Whether delivery can wait for the rest of a small body: the caller collects it and no listener receives the head,
  /// so that the caller is resumed once, with head and body.
  private var isAlmostWhole: Bool {
    guard hasHead, limits.wholeBody > 0, !limits.events.contains(.response) else { return false }
    let length = handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    return length <= min(limits.wholeBody, Self.largestWait) && received < length
  }

  private static let largestWait: Int64 = 256 << 10

  private func reportSent() {
    guard limits.events.contains(.progress), sent != reportedSent else { return }
    reportedSent = sent
    undelivered.append(.sent(sent))
  }

  private func markDirty() {
    if isDirty { return }
    isDirty = true
    onDirty?(self)
  }

  private func deliver() {
    guard !undelivered.isEmpty else { return }
    signals.push(undelivered)
    undelivered.removeAll(keepingCapacity: true)
    undeliveredBytes = 0
  }

  private func releaseHead() {
    guard let block = heldHead else { return }
    heldHead = nil
    hasHead = true
    let head = TransferSignal.head(block)
    undelivered.append(head.measured(metrics(before: head)))
  }

  /// Allocates one buffer for the whole body if it is to be delivered in one piece, and one for a chunk otherwise.
  private func allocateBuffer(for count: Int) -> Bool {
    let length = handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    let isWhole = undeliveredBytes == 0 && length >= count && length <= limits.wholeBody
    return buffer.allocate(bodySize: isWhole ? Int(length) : nil)
  }

  private func flushBuffer() {
    guard let data = buffer.take() else { return }
    undeliveredBytes += data.count
    undelivered.append(.chunk(data))
  }
}
#endif
