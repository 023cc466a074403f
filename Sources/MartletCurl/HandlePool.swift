#if os(Linux)
import CCurl
import MartletEngine
import Synchronization

/// Easy handles that are between two requests: making one costs several times as much as cleaning one.
///
/// libcurl before 8.1.0 must not use a handle for a second transfer: it keeps a pointer to the last header line of the first,
/// which is freed when the second begins, and a response whose first field line begins with white space is written to that
/// memory. No option and no reset takes the pointer away. There, each transfer gets a new handle; connections are not the
/// handles' and are reused all the same.
final class HandlePool: Sendable {
  private let idle = Mutex<[EasyHandle]>([])
  private let reuses: Bool
  private static let capacity = 256

  /// Whether this libcurl may use a handle for more than one transfer.
  static let isReuseSafe = martlet_handles_are_reusable() != 0

  init(reuses: Bool) { self.reuses = reuses }

  func take() throws(HTTPError) -> EasyHandle {
    if let handle = idle.withLock({ $0.popLast() }) { return handle }
    guard let handle = EasyHandle() else {
      throw HTTPError(.other, "libcurl has no memory for another transfer", phase: .preparing)
    }
    return handle
  }

  /// Takes a handle back of which nobody asks anything any more.
  func give(back handle: EasyHandle) {
    guard reuses else { return }
    idle.withLock { idle in
      if idle.count < Self.capacity { idle.append(handle) }
    }
  }
}
#endif
