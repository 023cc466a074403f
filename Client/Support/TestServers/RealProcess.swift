package import Foundation
import MartletSemantics
import MartletTesting
import Synchronization

/// A server from the system's packages that a test starts and stops.
///
/// It runs under a shell that reads from a pipe. The pipe closes when the object is deallocated or the tests' process
/// ends for whatever reason. Then the shell kills the server and the processes that it started.
package final class RealProcess: Sendable {
  package let port: Int
  private let shell: ChildProcess

  /// Starts a server and returns when its port accepts connections.
  package init(_ executable: String, _ arguments: [String], port: Int) throws {
    self.port = port
    let script = #"trap '' INT TERM HUP; setsid "$@" & server=$!; read -r line; kill -9 -$server"#
    shell = try ChildProcess(
      "sh", ["-c", script, "sh", try ChildProcess.path(of: executable)] + arguments, output: .discarded)
    let limit = ContinuousClock.now + .seconds(20)
    while !LocalPort.answers(port) {
      guard ContinuousClock.now < limit else {
        throw RealServerError("\(executable) does not answer; run it by hand: \(arguments)")
      }
      usleep(5000)  // leaves the processor to the server that starts
    }
  }

  /// Runs a program until it exits.
  package static func run(_ executable: String, _ arguments: [String], in folder: URL) throws {
    let process = try ChildProcess(executable, arguments, in: folder, output: .readWithErrors)
    let text = String(decoding: process.readToEnd(), as: UTF8.self)
    guard process.succeeds() else { throw RealServerError("\(executable) \(arguments): \(text)") }
  }
}

package struct RealServerError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Ports of the loopback interface.
package enum LocalPort {
  /// Returns a port that is currently free, and that this process did not return before.
  ///
  /// It is below the ports that systems give to connections and to servers without a fixed port (32768 and above on
  /// Linux). So none of these takes it before the intended server.
  package static func free() throws -> Int {
    for _ in candidates {
      let port = last.withLock { last in
        last = last + 1 < candidates.upperBound ? last + 1 : candidates.lowerBound
        return last
      }
      if isFree(port) { return port }
    }
    throw RealServerError("no free port on 127.0.0.1")
  }

  private static let candidates = 10_000..<32_768
  private static let last = Mutex(candidates.lowerBound + Int(getpid()) * 97 % candidates.count)

  private static func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = Self.address(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  package static func answers(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = Self.address(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }
}
