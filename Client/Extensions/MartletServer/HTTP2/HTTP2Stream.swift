#if os(Linux)
@_spi(Toolkit) import MartletSemantics

/// A stream of HTTP/2: its own thread answers the request, and blocks in these methods; the connection's thread moves
/// the bytes.
final class HTTP2Stream: Sendable {
  let id: Int32
  /// Whether the request opens a tunnel (RFC 8441), whose directions end independently.
  let isTunnel: Bool
  private let link: HTTP2Link
  private let monitor = Monitor(State())

  private struct State: Sendable {
    var input: [Data] = []
    var hasInputEnded = false
    var trailers: HTTPFields = [:]
    /// How many bytes the thread has taken that the client may send again.
    var consumed = 0
    var output: [StreamItem] = []
    /// The number of items at the beginning that were sent.
    var sent = 0
    var waitingBytes = 0
    var isClosed = false
    /// Wakes a thread that waits for something else at the same time.
    var closing: Gate?

    var first: StreamItem? { sent < output.count ? output[sent] : nil }

    mutating func removeFirst() {
      sent += 1
      if sent == output.count { (output, sent) = ([], 0) }
    }

    /// Takes received bytes, at most as many as wanted.
    mutating func take(upTo limit: Int) -> Data? {
      guard let first = input.first else { return nil }
      let taken = first.prefix(limit)
      if taken.count == first.count { input.removeFirst() } else { input[0] = first.dropFirst(taken.count) }
      consumed += taken.count
      return taken
    }
  }

  /// How many bytes may wait to be sent before the stream's thread does.
  private static let outputLimit = 256 << 10

  init(_ id: Int32, _ link: HTTP2Link, isTunnel: Bool) { (self.id, self.link, self.isTunnel) = (id, link, isTunnel) }
}

// MARK: - The stream's thread

extension HTTP2Stream: ServerStream {
  func waitForBytes(until deadline: ContinuousClock.Instant) -> Bool {
    monitor.wait(until: deadline) { $0.input.isEmpty && !$0.hasInputEnded && !$0.isClosed ? nil : true } ?? false
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let data = try? next(upTo: buffer.count) else { return 0 }
    return data.copyBytes(to: buffer)
  }

  /// Returns the next bytes; nil at the end of the body.
  ///
  /// - Throws: ``WireError/peerGone`` if the client or the server has ended the stream.
  func next(upTo limit: Int = .max) throws(WireError) -> Data? {
    let result = monitor.wait { state -> Result<Data?, WireError>? in
      if let data = state.take(upTo: limit) { return .success(data) }
      if state.isClosed { return .failure(.peerGone) }
      return state.hasInputEnded ? .success(nil) : nil
    }
    guard let data = try (result ?? .failure(.peerGone)).get() else { return nil }
    link.changed(id)
    return data
  }

  /// The trailer fields; complete at the end of the body.
  var trailers: HTTPFields { monitor.update { $0.trailers } }

  /// Whether the request was received to its end.
  var hasInputEnded: Bool { monitor.update { $0.hasInputEnded } }

  func send(_ bytes: UnsafeRawBufferPointer) throws(WireError) { try put(.data(Data(bytes))) }

  /// Adds an item; blocks while too many bytes wait to be sent.
  func put(_ item: StreamItem) throws(WireError) {
    let isOpen = monitor.wait { state -> Bool? in
      if state.isClosed { return false }
      if case .data(let data) = item {
        guard !data.isEmpty else { return true }
        guard state.waitingBytes < Self.outputLimit else { return nil }
        state.waitingBytes += data.count
      }
      state.output.append(item)
      return true
    }
    guard isOpen == true else { throw .peerGone }
    link.changed(id)
  }

  func wait(for gate: Gate?) throws(WireError) {
    let closing = try closingGate()
    closing.block(orUntil: gate, atMost: nil)
    if closing.isOpen { throw .peerGone }
  }

  func pause(for duration: Duration) throws(WireError) {
    let closing = try closingGate()
    closing.block(orUntil: nil, atMost: .now + duration.bounded)
    if closing.isOpen { throw .peerGone }
  }

  private func closingGate() throws(WireError) -> Gate {
    guard let new = Gate.ifPossible() else { throw .peerGone }
    let gate = monitor.update { state -> Gate? in
      if state.isClosed { return nil }
      let gate = state.closing ?? new
      state.closing = gate
      return gate
    }
    guard let gate else { throw .peerGone }
    return gate
  }

  /// Ends the connection after everything that this stream has sent.
  func endConnection(_ ending: Reply.Ending) { link.end(ending, after: id) }

  func finish() {}

  func closeGently() { try? put(.end([:])) }
}

// MARK: - The connection's thread

extension HTTP2Stream {
  func received(_ data: Data) { monitor.update { $0.input.append(data) } }

  func receivedEnd(trailers: HTTPFields) {
    monitor.update { state in
      state.hasInputEnded = true
      state.trailers = trailers
    }
  }

  /// Ends the waits of the stream's thread.
  func close() {
    let closing = monitor.update { state in
      state.isClosed = true
      return state.closing.take()
    }
    closing?.open()
  }

  /// Returns how many bytes the thread has taken since the last call.
  func takeConsumed() -> Int {
    monitor.update { state in
      defer { state.consumed = 0 }
      return state.consumed
    }
  }

  var firstItem: StreamItem? { monitor.update { $0.first } }

  func removeFirst() { monitor.update { $0.removeFirst() } }

  /// What a DATA frame gets.
  enum Piece {
    case bytes(Int)
    /// The last bytes, with the trailers that follow.
    case last(Int, trailers: HTTPFields)
    /// Something else comes first, or nothing is there yet.
    case later
  }

  /// Moves bytes to a DATA frame, those of one item.
  func takeData(into room: UnsafeMutableRawBufferPointer) -> Piece {
    monitor.update { state in
      var count = 0
      if case .data(let data) = state.first {
        count = min(data.count, room.count)
        _ = data.copyBytes(to: room)
        state.waitingBytes -= count
        if count < data.count {
          state.output[state.sent] = .data(data.dropFirst(count))
          return .bytes(count)
        }
        state.removeFirst()
      }
      if case .end(let trailers) = state.first {
        state.removeFirst()
        return .last(count, trailers: trailers)
      }
      return count > 0 ? .bytes(count) : .later
    }
  }
}
#endif
