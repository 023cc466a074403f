import Foundation
import MeasuredClient

/// A separate nginx on loopback. Its configuration, files and logs are in a temporary directory that is removed with
/// it.
final class Nginx {
  let server: RunningServer

  private let folder: URL
  private let process = Process()

  /// Starts the server, and returns when it answers.
  init() throws {
    guard let program = Command.find("nginx") else {
      throw BenchError("nginx is missing, and the benchmarks measure against it: apt-get install nginx-light")
    }
    folder = FileManager.default.temporaryDirectory.appending(component: "martlet-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let configuration = NginxConfiguration(
      folder: folder.path, ports: try FreePorts.take(NginxConfiguration.Listener.allCases.count))
    server = RunningServer(
      plain: try configuration.url(.plain), secure: try configuration.url(.secure),
      secureHTTP1: try configuration.url(.secureHTTP1), closing: try configuration.url(.closing),
      closingSecure: try configuration.url(.closingSecure),
      closingSecureWithoutTickets: try configuration.url(.closingSecureWithoutTickets), sink: try Sink().url,
      echo: try EchoServer().url,
      certificate: folder.appending(component: "certificate.pem"),
      uploadBody: folder.appending(component: ServedFile.large.name),
      version: try Command.output(of: program, ["-v"]).replacing("nginx version: ", with: ""))

    try makeCertificate()
    for file in ServedFile.allCases { try file.write(into: folder) }
    for file in CodedFile.allCases { try file.write(into: folder) }
    let path = folder.appending(component: "nginx.conf")
    try configuration.text.write(to: path, atomically: true, encoding: .utf8)

    process.executableURL = URL(filePath: program)
    process.arguments = ["-p", folder.path, "-c", path.path, "-e", folder.appending(component: "error.log").path]
    try process.run()
    try waitUntilItAnswers(on: configuration.ports)
  }

  /// Stops the server and removes its files.
  func stop() {
    // It has nothing to save, and a process made by a Dispatch thread may have the gentler signals blocked.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    try? FileManager.default.removeItem(at: folder)
  }

  private func makeCertificate() throws {
    let arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-keyout", folder.appending(component: "key.pem").path, "-out", server.certificate.path,
    ]
    let output = try Command.output(of: "/usr/bin/openssl", arguments)
    guard FileManager.default.fileExists(atPath: server.certificate.path) else {
      throw BenchError("openssl made no certificate: \(output)")
    }
  }

  private func waitUntilItAnswers(on ports: [UInt16]) throws {
    let end = ContinuousClock.now + .seconds(10)
    while !ports.allSatisfy(FreePorts.isAnswering) {
      guard process.isRunning, ContinuousClock.now < end else {
        let log = try? String(contentsOf: folder.appending(component: "error.log"), encoding: .utf8)
        stop()
        throw BenchError("nginx does not start: \(log ?? "no log")")
      }
      usleep(10_000)
    }
  }
}
