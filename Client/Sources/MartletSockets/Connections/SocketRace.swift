#if os(Linux)
import CSockets
import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Opens a connection to a host: looks up its name, then tries its addresses as ``HappyEyeballs`` says. It belongs to
/// the loop's thread.
final class SocketRace: SocketHandler {
  /// The current phase.
  private(set) var phase = HTTPError.Phase.resolving
  /// When the name was resolved, in nanoseconds on the loop's clock.
  private(set) var resolved: UInt64 = 0
  /// Whether the process or the system has no descriptor left for a socket.
  private(set) var lacksDescriptor = false

  private let peer: String
  /// The local address of the sockets; nil to let the system choose.
  private let local: IPAddress?
  private let serviceClass: ServiceClass?
  /// Why the system refused the service class; nil if it did not.
  private(set) var serviceClassRefusal: String?
  private let loop: EventLoop
  private let finish: (Result<(Socket, SocketAddress), HTTPError>) -> Void
  private var schedule: HappyEyeballs?
  private var attempts: [(socket: Socket, address: SocketAddress)] = []
  private var isOver = false
  private lazy var timer = HeapTimer { [weak self] in self?.advance() }

  /// - Parameters:
  ///   - peer: host and port, for messages.
  ///   - local: the local address; only addresses of its family are tried then.
  ///   - serviceClass: the class of their packets; nil to leave that to the system.
  ///   - finish: called once with the result, unless it is cancelled; it must not refer strongly to this object.
  init(
    to peer: String, from local: IPAddress?, _ serviceClass: ServiceClass?, on loop: EventLoop,
    finish: @escaping (Result<(Socket, SocketAddress), HTTPError>) -> Void
  ) {
    self.peer = peer
    self.local = local
    self.serviceClass = serviceClass
    self.loop = loop
    self.finish = finish
  }

  /// Continues with the result of the look-up.
  func start(_ addresses: Result<[SocketAddress], HTTPError>) {
    guard !isOver else { return }
    resolved = loop.now
    switch addresses {
    case .failure(let error): end(.failure(error))
    case .success(let addresses):
      phase = .connecting
      let usable = addresses.filter { $0.ip == nil || local == nil || $0.ip?.family == local?.family }
      if let local, usable.isEmpty {
        let version = local.family == .v4 ? "IPv4" : "IPv6"
        let message = "\(peer): it has no \(version) address, and connections begin at the local address \(local)"
        return end(.failure(HTTPError(.cannotConnect, message, phase: .connecting)))
      }
      schedule = HappyEyeballs(usable)
      advance()
    }
  }

  /// Closes all sockets. Nothing is reported afterwards.
  func cancel() {
    isOver = true
    loop.set(timer, to: .max)
    for attempt in attempts { attempt.socket.close() }
    attempts = []
  }

  /// Returns the error for a connection that took too long.
  func timeout(after limit: Duration) -> HTTPError {
    schedule?.timeout(connectingTo: peer, after: limit)
      ?? HTTPError(
        .connectTimeout, "\(peer): the name was not resolved within \(Quantity.text(limit))", phase: .resolving)
  }

  private func advance() {
    while !isOver, schedule != nil {
      switch schedule?.next(now: loop.now) {
      case .start(let address): attempt(address)
      case .wait(let time): return loop.set(timer, to: time ?? .max)
      case .giveUp, nil:
        guard let error = schedule?.error(connectingTo: peer) else { return }
        return end(.failure(error))
      }
    }
  }

  private func attempt(_ address: SocketAddress) {
    guard let socket = Socket(family: address.family, on: loop) else {
      let code = errno
      lacksDescriptor = code == EMFILE || code == ENFILE
      return failed(address, code)
    }
    socket.handler = self
    if let local, let code = socket.bind(to: local) {
      socket.close()
      return schedule?.failed(address, "cannot use the local address \(local): \(String(cString: strerror(code)))")
        ?? ()
    }
    // Before it connects, so that its first packet has the class, too.
    if let serviceClass, address.family != AF_UNIX, let code = socket.set(serviceClass, family: address.family) {
      serviceClassRefusal = String(cString: strerror(code))
    }
    let code = address.withSockaddr { socket.connect(to: $0, $1) }
    switch code {
    case 0: won(socket, address)
    case EINPROGRESS:
      attempts.append((socket, address))
      socket.interest = .write
    default:
      socket.close()
      failed(address, code)
    }
  }

  private func failed(_ address: SocketAddress, _ code: Int32) {
    let isFull = code == EAGAIN && address.family == AF_UNIX
    schedule?.failed(
      address, isFull ? "too many connections wait for the server" : String(cString: strerror(code)),
      isNetworkDown: [ENETUNREACH, ENETDOWN].contains(code))
  }

  private func won(_ socket: Socket, _ address: SocketAddress) {
    attempts.removeAll { $0.socket === socket }
    socket.interest = []
    end(.success((socket, address)))
  }

  private func end(_ result: Result<(Socket, SocketAddress), HTTPError>) {
    guard !isOver else { return }
    cancel()
    finish(result)
  }

  func socketIsWritable(_ socket: Socket) {
    guard let index = attempts.firstIndex(where: { $0.socket === socket }) else { return }
    let address = attempts[index].address
    let code = socket.connectionError
    if code == 0 { return won(socket, address) }
    socketFailed(socket, code)
  }

  func socketIsReadable(_ socket: Socket) {}

  func socketFailed(_ socket: Socket, _ code: Int32) {
    guard let index = attempts.firstIndex(where: { $0.socket === socket }) else { return }
    let address = attempts.remove(at: index).address
    socket.close()
    failed(address, code)
    advance()
  }
}
#endif
