#if os(Linux)
import FoundationEssentials

/// Returns the path of an executable target of this package; it is built into the same folder as the tests.
package func builtProgram(_ name: String) throws -> String {
  let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  return URL(filePath: tests).deletingLastPathComponent().appending(path: name).path
}
#endif
