#if os(Linux)
import CSockets
import Glibc
@_spi(Transports) import MartletEngine

/// The thread of a ``Network``. The transport and every body that is being read have a reference to it; with the last
/// reference, its connections are closed and the thread ends.
final class LoopThread: Sendable {
  let http1Servers = HTTP1Servers()
  let jobs = JobQueue<Network>(wakeUp: EventLoop.makeWakeUp())
  private let loan = LoopLoan<Network>()

  /// - Throws: an error if the system has no thread or descriptor for it.
  init(
    _ configuration: ConnectionConfiguration, _ options: ConnectionOptions, _ authentications: ProxyAuthentications
  ) throws(HTTPError) {
    let network = try Network(configuration, options, authentications, jobs, loan, http1Servers)
    // The thread owns what belongs to the loop.
    let handedOver = Unmanaged.passRetained(network).toOpaque()
    var thread = pthread_t()
    guard pthread_create(&thread, nil, Self.main, handedOver) == 0 else {
      Unmanaged<Network>.fromOpaque(handedOver).release()
      throw HTTPError(.other, "the system cannot start a thread for the transport", phase: .preparing)
    }
    pthread_detach(thread)
  }

  /// Begins an exchange: on this thread if the loop sleeps and has nothing else to do, else on the loop's.
  func start(_ exchange: Exchange) {
    let result = loan.borrow { $0.startOnBorrowedLoop(exchange, unless: $1) }
    if result?.hasBegun != true { return jobs.submit { $0.start(exchange) } }
    if result?.mustWake == true { jobs.wakeLoop() }
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    martlet_name_thread("martlet-sockets")
    Unmanaged<Network>.fromOpaque(handedOver).takeRetainedValue().run()
    return nil
  }

  deinit { jobs.submit { $0.shutDown() } }
}
#endif
