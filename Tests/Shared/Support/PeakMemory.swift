#if canImport(Glibc)
import Glibc

/// Returns the process's peak resident memory so far, in bytes.
package func peakMemory() -> Int {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage.ru_maxrss << 10
}
#endif
