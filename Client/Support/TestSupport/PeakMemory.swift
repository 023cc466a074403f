#if canImport(Glibc)
import Glibc

/// Returns the process's own peak resident memory so far, in bytes. (In a child, `getrusage` may return that of its
/// parent.)
package func peakMemory() -> Int {
  guard let file = fopen("/proc/self/status", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, Int32(line.count), file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    guard text.hasPrefix("VmHWM:") else { continue }
    return (Int(text.filter(\.isNumber)) ?? 0) << 10
  }
  return 0
}
#endif
