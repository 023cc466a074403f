#if os(Linux)
import MartletEngine
import Synchronization

/// Easy handles that are between two requests: making one costs several times as much as cleaning one.
final class HandlePool: Sendable {
  private let idle = Mutex<[EasyHandle]>([])
  private static let capacity = 256

  func take() throws(HTTPError) -> EasyHandle {
    if let handle = idle.withLock({ $0.popLast() }) { return handle }
    guard let handle = EasyHandle() else {
      throw HTTPError(.other, "libcurl has no memory for another transfer", phase: .preparing)
    }
    return handle
  }

  func give(back handle: EasyHandle) {
    idle.withLock { idle in
      if idle.count < Self.capacity { idle.append(handle) }
    }
  }
}
#endif
