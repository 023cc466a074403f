#if os(Linux)
import CCurl
import Glibc
import MartletEngine
import Synchronization

/// The thread of a ``MultiLoop``. The transport and every body that is being read have a reference to it; with the last
/// reference, the thread ends.
final class LoopThread: Sendable {
  let commands = CommandQueue()
  let pool: HandlePool
  let chunks = ChunkPool()

  init(_ configuration: CurlConfiguration) throws(HTTPError) {
    pool = HandlePool(reuses: configuration.reusesHandles ?? HandlePool.isReuseSafe)
    guard Self.isLibraryReady,
      let loop = MultiLoop(commands: commands, pool: pool, configuration: configuration.connection)
    else { throw HTTPError(.other, "libcurl cannot be started: out of memory or descriptors", phase: .preparing) }

    // The thread owns the loop.
    let handedOver = Unmanaged.passRetained(loop).toOpaque()
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, Self.main, handedOver)
    guard code == 0 else {
      Unmanaged<MultiLoop>.fromOpaque(handedOver).release()
      throw HTTPError(.other, "the system cannot start a thread for the transport", phase: .preparing)
    }
    pthread_detach(thread)
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    martlet_name_thread("martlet-curl")
    Unmanaged<MultiLoop>.fromOpaque(handedOver).takeRetainedValue().run()
    return nil
  }

  /// libcurl has to be initialized once in a process, before its first use.
  private static let isLibraryReady: Bool = {
    CryptoLibrary.start()
    return curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
  }()

  deinit { commands.submit(.stop) }
}

/// The commands of other threads to the loop thread. Its wake-up descriptor is written only while the loop sleeps.
final class CommandQueue: Sendable {
  enum Command: Sendable {
    case start(Transfer)
    case unpause(Transfer)
    /// The reader stopped. A short rest of the body may be read, so that the connection can be reused.
    case cancel(Transfer)
    /// Reading the request's body failed.
    case fail(Transfer, HTTPError)
    case stop
  }

  private let pending = Mutex<[Command]>([])
  private let isAsleep = Atomic(false)
  /// The descriptor that becomes readable to wake the loop; negative if the system has none left.
  let wakeUp = martlet_make_wake_up()

  deinit { close(wakeUp) }

  func submit(_ command: Command) {
    pending.withLock { $0.append(command) }
    if isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
      var one: UInt64 = 1
      _ = write(wakeUp, &one, 8)
    }
  }

  /// Called by the loop: swaps all commands with an empty array, so that both arrays keep their memory.
  func drain(into empty: inout [Command]) {
    pending.withLock { swap(&$0, &empty) }
  }

  /// Called by the loop: whether it may sleep. The flag is set before the commands are checked, so that none is missed
  /// that is submitted in between.
  func mayFallAsleep() -> Bool {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    if pending.withLock({ $0.isEmpty }) { return true }
    awake()
    return false
  }

  func awake() { isAsleep.store(false, ordering: .sequentiallyConsistent) }

  /// Called by the loop after it was woken.
  func clearWakeUp() {
    var count: UInt64 = 0
    _ = read(wakeUp, &count, 8)
  }
}
#endif
