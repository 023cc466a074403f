#if os(Linux)
import CCurl
import Glibc
import MartletEngine

/// Keeps the loop thread alive: the transport and every body that is still being read hold one; when the last lets go, the
/// thread ends.
final class LoopThread: Sendable {
  let mailbox = Mailbox()
  let pool: HandlePool
  let chunks = ChunkPool()

  init(_ configuration: CurlConfiguration) throws(HTTPError) {
    pool = HandlePool(reuses: configuration.reusesHandles ?? HandlePool.isReuseSafe)
    guard Self.isLibraryReady,
      let loop = MultiLoop(mailbox: mailbox, pool: pool, configuration: configuration)
    else { throw HTTPError(.other, "libcurl cannot be started: out of memory or descriptors", phase: .preparing) }

    // The thread takes the loop over; nobody else keeps it.
    let handedOver = Unmanaged.passRetained(loop).toOpaque()
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, Self.main, handedOver)
    guard code == 0 else {
      Unmanaged<MultiLoop>.fromOpaque(handedOver).release()
      throw HTTPError(.other, "the system has no thread for the transport", phase: .preparing)
    }
    pthread_detach(thread)
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    martlet_name_thread("martlet-curl")
    Unmanaged<MultiLoop>.fromOpaque(handedOver).takeRetainedValue().run()
    return nil
  }

  /// libcurl wants to be initialised once in a process, before the first use.
  private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  deinit { mailbox.submit(.stop) }
}
#endif
