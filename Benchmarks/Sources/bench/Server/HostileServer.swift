import Foundation
import MeasuredClient

/// A server that floods each of its connections, until it is deallocated: Peers/hostile_server.py.
final class HostileServer: Sendable {
  let url: URL
  private let process: pid_t

  /// - Parameters:
  ///   - flood: the flood that it sends.
  ///   - certificate: the certificate for a flood over TLS, with the key beside it.
  init(_ flood: String, certificate: URL?) throws {
    let script = URL(filePath: #filePath).appending(path: "../../../../Peers/hostile_server.py").standardized.path
    let key = certificate?.deletingLastPathComponent().appending(component: "key.pem")
    guard let python = Command.find("python3") else { throw BenchError("python3 is missing: install it") }
    let (reading, writing) = (try Command.makePipe(), try Command.makePipe())
    let output = FileHandle(fileDescriptor: reading.read, closeOnDealloc: true)
    process = try Command.spawn(
      python, [script, flood] + [certificate, key].compactMap { $0?.path }, input: writing.read, output: reading.write)
    for end in [writing.read, writing.write, reading.write] { close(end) }
    let port = String(decoding: output.availableData, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let url = URL(string: "http\(certificate == nil ? "" : "s")://127.0.0.1:\(port)/"), !port.isEmpty else {
      throw BenchError("\(script) \(flood) does not start")
    }
    self.url = url
  }

  deinit {
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
  }
}
