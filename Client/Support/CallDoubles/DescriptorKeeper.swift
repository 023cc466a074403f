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
      // the lowest ones: a transport leaves the last ones of the process to others
      for descriptor in kept.prefix(step) { close(descriptor) }
      kept.removeFirst(min(step, kept.count))
    }
  }
}

/// Stands for `open` in programs that take all their descriptors. libdispatch opens the states of its threads once a
/// second, and stops the program if it cannot; here it may go beyond the limit.
@_cdecl("open") package func openBeyondTheLimit(
  _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32
) -> Int32 {
  let descriptor = openat(AT_FDCWD, path, flags, mode)
  guard descriptor < 0, errno == EMFILE, strncmp(path, "/proc/", 6) == 0 else { return descriptor }
  var limits = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  let limit = limits.rlim_cur
  limits.rlim_cur = min(limit + 8, limits.rlim_max)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  defer {
    limits.rlim_cur = limit
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  }
  return openat(AT_FDCWD, path, flags, mode)
}
#endif
