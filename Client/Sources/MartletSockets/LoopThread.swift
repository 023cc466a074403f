#if os(Linux)
import CSockets
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The start of a transport's thread. If it fails, for example for lack of a descriptor, each request tries again.
final class LoopStart: Sendable {
  private let make: @Sendable () throws(HTTPError) -> LoopThread
  private let first: Result<LoopThread, HTTPError>
  private let later = Mutex<LoopThread?>(nil)

  init(_ make: @escaping @Sendable () throws(HTTPError) -> LoopThread) {
    self.make = make
    first = Result { () throws(HTTPError) in try make() }
  }

  /// Returns the thread.
  ///
  /// - Throws: why it cannot be started now.
  func get() throws(HTTPError) -> LoopThread {
    if case .success(let thread) = first { return thread }
    if let thread = later.withLock({ $0 }) { return thread }
    // If two threads are made at the same time, one of them ends at once.
    let made = try make()
    return later.withLock { thread in
      thread = thread ?? made
      return thread ?? made
    }
  }
}

/// The thread of a ``TransportCore``. The transport and every body that is being read have a reference to it; with the
/// last reference, its connections are closed and the thread ends.
final class LoopThread: Sendable {
  let servers = ServerKnowledge()
  let jobs = JobQueue<TransportCore>(wakeUp: EventLoop.makeWakeUp())
  let ownership = LoopOwnership<TransportCore>()
  let resumed = ResumedJobs()
  /// Passes what a call's tasks ask for to the loop, unless the exchange has ended there.
  let command: @Sendable (Exchange.Command, Exchange) -> Void
  /// The transport's number in `SpareDescriptors`, which can make it give up idle connections.
  private let idleConnections: Int

  /// - Throws: an error if the system has no thread or descriptor for it.
  init(
    _ configuration: ConnectionConfiguration, _ options: ConnectionOptions, _ security: ConnectionSecurity,
    _ authentications: ProxyAuthentications
  ) throws(HTTPError) {
    command = { [jobs] command, exchange in jobs.submit { $0.obey(command, of: exchange) } }
    let parts = TransportCore.SharedParts(
      jobs: jobs, ownership: ownership, resumed: resumed, servers: servers, authentications: authentications)
    let transport = try TransportCore(configuration, options, security, parts)
    // The thread owns what belongs to the loop.
    let handedOver = Unmanaged.passRetained(transport).toOpaque()
    var thread = pthread_t()
    guard pthread_create(&thread, nil, Self.main, handedOver) == 0 else {
      Unmanaged<TransportCore>.fromOpaque(handedOver).release()
      throw HTTPError(.other, "the system cannot start a thread for the transport", phase: .preparing)
    }
    pthread_detach(thread)
    idleConnections = SpareDescriptors.add { [jobs] done in
      jobs.submit { transport in withExtendedLifetime(done) { transport.pool.giveUpIdle() } }
    }
  }

  /// Begins an exchange: on the calling thread if the loop sleeps and has little else to do, otherwise on the loop's.
  func start(_ exchange: Exchange) {
    let hasBegun = onCallersThread { $0.startOnBorrowedLoop(exchange, unless: $1) }
    if !hasBegun { jobs.submit { $0.start(exchange) } }
  }

  /// Sends the output of an upgraded connection: on the calling thread if the program awaits the answers and the loop
  /// sleeps, otherwise on the loop's, which sends the output of several writes together.
  func continueOutput(of upgrade: Upgrade) {
    let isAwaited =
      upgrade.isAwaited.load(ordering: .relaxed) && upgrade.isAwaited.exchange(false, ordering: .relaxed)
    let isSent = isAwaited && onCallersThread { transport, _ in transport.sendOnBorrowedLoop(upgrade) }
    if !isSent { jobs.submit { $0.continueOutput(of: upgrade) } }
  }

  /// Waits briefly on the calling thread for the answer to an upgraded connection's output, if the loop sleeps and the
  /// peer has answered fast before.
  func awaitAnswer(of upgrade: Upgrade) {
    guard !ownership.isHeldByThisThread else { return }
    upgrade.isAwaited.store(true, ordering: .relaxed)
    _ = onCallersThread { $0.awaitAnswer(of: upgrade, unless: $1) }
  }

  /// Works on the calling thread, if the loop sleeps and no other work waits for it. Returns whether the work was done.
  private func onCallersThread(_ work: (TransportCore, _ interrupt: Int32) -> Bool) -> Bool {
    guard jobs.isIdle else { return false }
    let result = ownership.borrow { transport, interrupt in
      transport.loop.beginTurn()
      return (isDone: work(transport, interrupt), mustWake: transport.loop.mustWake)
    }
    guard let result else { return false }
    if result.mustWake { jobs.wakeLoop() }
    return result.isDone
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    martlet_name_thread("martlet-sockets")
    Unmanaged<TransportCore>.fromOpaque(handedOver).takeRetainedValue().run()
    return nil
  }

  deinit {
    SpareDescriptors.remove(idleConnections)
    jobs.submit { $0.shutDown() }
  }
}
#endif
