#if os(Linux)
/// The socket of a closed connection, kept until the peer has had the chance to read the last bytes, such as a GOAWAY.
///
/// A system that closes a socket with unread bytes, or receives bytes for a closed socket, answers with a reset, and
/// the peer then loses the data that it has not read yet (RFC 9112 §9.6 describes this for HTTP/1.1). So the client
/// first ends its own direction, and then discards whatever arrives until the peer ends its direction.
final class LingeringSocket: SocketHandler {
  private let socket: Socket
  private let loop: EventLoop
  private let memory: ReceiveMemory
  /// The bytes that the network has not taken yet.
  private var unsent: SendBuffer
  private var discarded = 0
  private lazy var timer = HeapTimer { [weak self] in self?.close() }
  private let closed: () -> Void

  /// How long a peer may continue to send, in nanoseconds: enough for several round trips over a slow network.
  private static let timeLimit: UInt64 = 1_000_000_000
  /// How many bytes may still arrive: a peer that respects the connection's window has no more in transit.
  private static let byteLimit = HTTP2Settings().connectionWindow

  /// - Parameter closed: called when it is closed; it must not refer strongly to this object.
  init(
    _ socket: Socket, sending unsent: SendBuffer, receivingInto memory: ReceiveMemory, on loop: EventLoop,
    closed: @escaping () -> Void
  ) {
    (self.socket, self.unsent, self.memory, self.loop, self.closed) = (socket, unsent, memory, loop, closed)
    socket.handler = self
    socket.interest = .read
  }

  /// Sends the rest, and waits for the peer.
  func begin() {
    loop.set(timer, to: loop.now &+ Self.timeLimit)
    sendRest()
  }

  func close() {
    guard socket.isOpen else { return }
    loop.set(timer, to: .max)
    socket.close()
    closed()
  }

  private func sendRest() {
    while !unsent.isEmpty {
      switch unsent.withUnsafeBytes({ socket.send($0) }) {
      case .bytes(let count): unsent.consume(count)
      case .notReady:
        socket.interest.insert(.write)
        return
      case .end, .failed: return close()
      }
    }
    socket.finishSending()
  }

  func socketIsWritable(_ socket: Socket) {
    socket.interest.remove(.write)
    sendRest()
  }

  func socketIsReadable(_ socket: Socket) {
    var limit = TurnLimit()
    while true {
      let result = socket.receive(into: memory.room(ofLayer: 0))
      memory.received(result.count)
      switch result {
      case .bytes(let count):
        discarded += count
        guard discarded <= Self.byteLimit else { return close() }
        guard limit.allowsMore(after: count) else { return }
      case .notReady: return
      case .end, .failed: return close()
      }
    }
  }

  func socketFailed(_ socket: Socket, _ code: Int32) { close() }
}

extension TransportCore {
  /// Lets the socket of a closed connection linger.
  func linger(_ socket: Socket, of connection: Int, sending unsent: SendBuffer) {
    let lingerer = LingeringSocket(socket, sending: unsent, receivingInto: receiveMemory, on: loop) { [weak self] in
      _ = self?.lingering.take(connection)
    }
    lingering[connection] = lingerer
    lingerer.begin()
  }
}
#endif
