#if os(Linux)
import Dispatch
import Glibc
@_spi(Toolkit) import MartletEngine
import Synchronization

/// Keeps all descriptors of the process, like a transport with idle connections, and gives up a few at a time. So each
/// step that makes a descriptor has to ask for it.
package final class DescriptorKeeper: Sendable {
  private let kept = Mutex<[Int32]>([])
  private let step: Int

  /// - Parameters:
  ///   - limit: the number of descriptors that the process may have from now on.
  ///   - step: how many are given up at a time.
  package init(limit: Int = 100, step: Int = 1) {
    self.step = step
    // libdispatch stops the program if there is no descriptor for its main queue or its first timer.
    DispatchQueue.main.async {}
    let isReady = DispatchSemaphore(value: 0)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { isReady.signal() }
    isReady.wait()
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    limits.rlim_cur = rlim_t(limit)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    _ = SpareDescriptors.add { [self] _ in giveUp() }  // for the rest of the program
  }

  /// Takes all descriptors that are left.
  package func takeAll() {
    kept.withLock { kept in
      while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { kept.append(descriptor) }
    }
  }

  private func giveUp() {
    kept.withLock { kept in
      for descriptor in kept.suffix(step) { close(descriptor) }
      kept.removeLast(min(step, kept.count))
    }
  }
}
#endif
