#if os(Linux)
import CCurl
import Glibc
import MartletEngine
import MartletSemantics

/// One request on its way: what libcurl's callbacks work on.
///
/// It is made and configured by the calling task, then submitted; from then on everything that is `var` belongs to the
/// loop thread. What the caller still uses are ``stream`` and ``upload``, which have locks of their own.
final class Transfer: @unchecked Sendable {  // SAFETY: handed over once through the Mailbox, as said above.
  let handle: EasyHandle
  let stream: ResponseStream
  let upload: Upload
  let limits: Limits
  private let chunks: ChunkPool
  let headerLines: UnsafeMutablePointer<curl_slist>?

  /// What a request may cost, and what its caller wants to know.
  struct Limits: Sendable {
    /// Nanoseconds, nil for ever.
    var response: UInt64?
    /// Nanoseconds, nil for ever.
    var idle: UInt64?
    var headerBytes: Int
    /// Up to which length a body is handed over in one piece: because it will be collected anyway. 0 for none.
    var wholeBody: Int64
    /// The statuses that libcurl may answer itself: such a response is not the final one before its body comes.
    var provisional: Set<Int>
    var isObserved: Bool
    /// Whether libcurl may send the request again if its connection was stale.
    var mayRepeat: Bool
    /// What the response answers.
    var method: HTTPMethod
    /// Whether the request has an `Upgrade` field.
    var allowsUpgrade: Bool
    /// Whether the URL is https.
    var isSecure: Bool
    /// Whether HTTP/2 is spoken without the server's consent.
    var assumesHTTP2: Bool
    /// Whether the request's connection is for this request only.
    var ownsConnection: Bool
  }

  /// Where the request's body comes from.
  enum Upload: Sendable {
    case none
    case bytes(Data)
    case queue(UploadQueue)
  }

  /// Reports that there is something to deliver at the end of this turn.
  var onDirty: ((Transfer) -> Void)?
  /// When anything last moved, on the loop's clock in nanoseconds.
  var lastActivity: UInt64 = 0
  /// Whether the final head has come.
  private(set) var hasHead = false
  /// Whether the reader made the sender wait: then silence is nobody's fault.
  var isPausedByReader = false
  /// Why a callback made libcurl give up.
  var failure: HTTPError?
  /// The connections of the loop.
  var connections: ConnectionTable?
  /// The connection that the request went over last.
  var connection: Connection?
  /// Whether the request has begun to go out.
  var isSent = false
  /// How often it went out again.
  var sendCount = 0
  /// The request's stream on its connection, over HTTP/2.
  var streamID: Int?
  /// Whether the server refused the stream.
  var wasRefused = false
  /// Whether libcurl closed a connection because it keeps too many.
  var sawEviction = false
  /// Whether libcurl keeps the connection, which it does with none that failed.
  var leftConnectionIntact = false
  /// Whether the transfer has to begin anew, on a fresh connection: nothing was sent.
  var wantsFreshConnection = false
  /// Whether it did.
  private(set) var hasFreshConnection = false
  /// How many bytes may still be thrown away for the sake of the connection, once the reader wants no more.
  private var discarding: Int?

  private var reader: ResponseHeadReader
  private var heldHead: [UInt8]?
  private var outbox: [Signal] = []
  private var outboxBytes = 0
  private var isDirty = false
  private var received: Int64 = 0
  private var sent: Int64 = 0
  private var reportedSent: Int64 = 0
  private var watchedSent: Int64 = 0
  /// Whether the final response's status and method allow a body.
  private(set) var mayHaveBody = true
  private var buffer: UnsafeMutableRawPointer?
  private var filled = 0
  private var capacity = 0

  init(
    handle: EasyHandle, stream: ResponseStream, upload: Upload, limits: Limits,
    headerLines: UnsafeMutablePointer<curl_slist>?, chunks: ChunkPool
  ) {
    self.handle = handle
    self.stream = stream
    self.upload = upload
    self.limits = limits
    self.headerLines = headerLines
    self.chunks = chunks
    reader = ResponseHeadReader(answering: limits.method, allowsUpgrade: limits.allowsUpgrade)
  }

  deinit {
    curl_slist_free_all(headerLines)
    releaseBuffer()
  }
}

// MARK: - What libcurl calls

extension Transfer {
  /// One line of a head or of the trailers. Anything but the number of its bytes makes libcurl give up.
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
    case .informational(let block): if limits.isObserved { outbox.append(.informational(block)) }
    case .final(let block, let status, let framing):
      connection?.version = block.starts(with: "HTTP/2".utf8) ? .http2 : .http1_1
      if Self.closes(block) { handle.set(CURLOPT_FORBID_REUSE, 1) }
      // a body with a length ends in a way of its own: libcurl closes the connection by itself if more comes
      if framing == .none || framing == .chunked { handle.set(CURLOPT_VERBOSE, 1) }
      mayHaveBody = limits.method != .head && status != 204 && status != 304
      heldHead = block
      if !limits.provisional.contains(status) { releaseHead() }
    }
  }

  /// Whether an HTTP/1.0 response ends a connection that libcurl would keep for its `keep-alive`: it also says `close`
  /// (RFC 9112 §9.3), or has a `Transfer-Encoding`, whose framing cannot be relied on there (§6.1).
  private static func closes(_ block: [UInt8]) -> Bool {
    guard block.starts(with: "HTTP/1.0".utf8) else { return false }
    let fields = ResponseHead(lines: block).fields
    return fields.contains(.transferEncoding)
      || fields.list(.connection).contains { ASCII.equalIgnoringCase($0, "close") }
  }

  /// Whether the line is of an HTTP/2 message; where only the response tells what a connection speaks, the line does.
  private func isHTTP2(_ line: UnsafeRawBufferPointer) -> Bool {
    connection?.version.map { $0 == .http2 } ?? line.starts(with: "HTTP/2".utf8)
  }

  /// Bytes of the body.
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
    guard !stream.pauses(with: outboxBytes + filled) else {
      isPausedByReader = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    received += Int64(bytes.count)
    var rest = bytes
    while !rest.isEmpty {
      if filled == capacity { flushBuffer() }
      guard buffer != nil || allocateBuffer(for: rest.count), let buffer else {
        failure = HTTPError(.other, "there is no memory for the response's body", phase: .receiving)
        return 0
      }
      let count = min(rest.count, capacity - filled)
      UnsafeMutableRawBufferPointer(start: buffer + filled, count: count).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
      filled += count
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return bytes.count
  }

  /// Room for bytes of the request's body.
  func sendBody(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count: Int
    switch upload {
    case .none: return 0
    case .bytes(let data):
      count = min(room.count, data.count - Int(sent))
      let start = data.startIndex + Int(sent)
      data.copyBytes(to: room, from: start..<(start + count))
    case .queue(let queue):
      count = queue.read(into: room)
      if count == Int(CURL_READFUNC_PAUSE) { return count }
    }
    sent += Int64(count)
    markDirty()
    return count
  }

  /// Begins the body anew, if it is all there or nothing of it was sent.
  func rewindBytes(to offset: Int64) -> Bool {
    if case .bytes = upload {
      sent = offset
      return true
    }
    return sent == offset
  }

  /// Something for those who watch.
  func tell(_ note: String) {
    guard limits.isObserved else { return }
    outbox.append(.note(note))
    markDirty()
  }
}

// MARK: - What the loop calls

extension Transfer {
  /// Hands over what this turn brought.
  func flush() {
    isDirty = false
    if isAlmostWhole { return }
    reportSent()
    if !isHoldingWholeBody { flushBuffer() }
    deliver()
  }

  /// The last signals. Nothing comes after.
  func finish(_ last: Signal) {
    if case .end = last { releaseHead() }
    reportSent()
    flushBuffer()
    outbox.append(last)
    deliver()
    isDirty = true  // nothing is delivered after the last signal
    if case .queue(let queue) = upload { queue.close() }
  }

  /// Whether a whole head has come that may not be the final one.
  var isHoldingHead: Bool { heldHead != nil }

  /// Begins anew, on a fresh connection.
  func restart() {
    wantsFreshConnection = false
    hasFreshConnection = true
    isSent = false
    leftConnectionIntact = false
    leaveConnection()
    handle.startAfresh()
  }

  /// The head was not the final one: libcurl goes on by itself, and another one comes.
  func restartHead() {
    heldHead = nil
    reader.restart()
  }

  /// The raw trailer lines.
  var trailers: [UInt8] { reader.trailers }

  /// Whether more of the request's body went out since this was last asked.
  func hasSentMore() -> Bool {
    defer { watchedSent = sent }
    return sent != watchedSent
  }

  /// The reader wants no more. What little is missing may be read and thrown away, so that the connection lives on.
  /// Returns whether that is worth it.
  func startDiscarding() -> Bool {
    let length = handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    let rest = length - handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
    guard hasHead, length >= 0, rest <= 64 << 10, case .none = upload else { return false }
    discarding = 64 << 10
    releaseBuffer()
    return true
  }

  var isDiscarding: Bool { discarding != nil }

  /// Whether the little that is missing may as well be waited for: the caller collects the body and nobody watches, so it is
  /// woken once, with everything, and not for the head alone.
  private var isAlmostWhole: Bool {
    guard hasHead, limits.wholeBody > 0, !limits.isObserved else { return false }
    let length = handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    return length <= min(limits.wholeBody, Self.largestWait) && received < length
  }

  private static let largestWait: Int64 = 256 << 10

  private func reportSent() {
    guard limits.isObserved, sent != reportedSent else { return }
    reportedSent = sent
    outbox.append(.sent(sent))
  }

  private func markDirty() {
    if isDirty { return }
    isDirty = true
    onDirty?(self)
  }

  private func deliver() {
    guard !outbox.isEmpty else { return }
    stream.deliver(outbox)
    outbox.removeAll(keepingCapacity: true)
    outboxBytes = 0
  }

  private func releaseHead() {
    guard let block = heldHead else { return }
    heldHead = nil
    hasHead = true
    outbox.append(.head(block))
  }
}

// MARK: - The buffer

extension Transfer {
  /// Whether the buffer is the whole body's, and still to be filled.
  private var isHoldingWholeBody: Bool {
    buffer != nil && filled < capacity && capacity != ChunkPool.chunkSize
  }

  /// A body that is collected, small and of known length gets a buffer of its size; any other comes in pooled chunks.
  private func allocateBuffer(for count: Int) -> Bool {
    let length = handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    if outboxBytes == 0, length >= count, length <= limits.wholeBody, length != ChunkPool.chunkSize {
      capacity = Int(length)
      buffer = malloc(capacity)
    } else {
      capacity = ChunkPool.chunkSize
      buffer = chunks.take()
    }
    filled = 0
    return buffer != nil
  }

  private func flushBuffer() {
    guard let full = buffer, filled > 0 else { return }
    let data: Data
    if capacity == ChunkPool.chunkSize {
      if filled <= ChunkPool.chunkSize / 8 {
        data = Data(bytes: full, count: filled)
        chunks.give(back: full)
      } else {
        data = Data(
          bytesNoCopy: full, count: filled, deallocator: .custom { [chunks] buffer, _ in chunks.give(back: buffer) })
      }
    } else {
      data = Data(bytesNoCopy: full, count: filled, deallocator: .free)
    }
    buffer = nil
    outbox.append(.chunk(data))
    outboxBytes += filled
    filled = 0
    capacity = 0
  }

  private func releaseBuffer() {
    guard let buffer else { return }
    if capacity == ChunkPool.chunkSize { chunks.give(back: buffer) } else { free(buffer) }
    self.buffer = nil
    filled = 0
    capacity = 0
  }
}
#endif
