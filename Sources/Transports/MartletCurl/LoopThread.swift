#if os(Linux)
import CCurl
import Glibc
@_spi(Transports) import MartletEngine

/// The thread of a ``MultiLoop``. The transport and every body that is being read have a reference to it; with the last
/// reference, the thread ends.
final class LoopThread: Sendable {
  let jobs = JobQueue<MultiLoop>(wakeUp: martlet_make_wake_up())
  let pool: HandlePool
  let chunks = ChunkPool()

  init(_ configuration: CurlConfiguration) throws(HTTPError) {
    pool = HandlePool(reuses: configuration.reusesHandles ?? HandlePool.isReuseSafe)
    guard Self.isLibraryReady,
      let loop = MultiLoop(jobs: jobs, pool: pool, configuration: configuration.connection)
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

  deinit { jobs.submit { $0.stop() } }
}

/// A transfer and the jobs of its loop, for the tasks that read the response and produce the request's body.
struct RunningTransfer: TransferControl {
  let transfer: Transfer
  let jobs: JobQueue<MultiLoop>

  func resumeReading() { jobs.submit { [transfer] in $0.unpause(transfer) } }

  func continueUpload() { jobs.submit { [transfer] in $0.unpause(transfer) } }

  func cancel() { jobs.submit { [transfer] in $0.cancel(transfer) } }

  func fail(_ error: HTTPError) { jobs.submit { [transfer] in $0.fail(transfer, error) } }
}
#endif
