import Foundation
import MeasuredClient

/// The duration of the smallest programs that get 1 KiB and print its length, from start to end, and their size.
enum StartCost {
  /// The programs. The static one exists after `swift build -c release --static-swift-stdlib --scratch-path
  /// .build/static --product start-martlet`.
  private static var programs: [(name: String, path: URL)] {
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let package = URL(filePath: #filePath).appending(path: "../../../..").standardized
    return [
      ("C, libcurl", folder.appending(component: "start-libcurl")),
      ("Martlet", folder.appending(component: "start-martlet")),
      ("Martlet, static standard library", package.appending(path: ".build/static/release/start-martlet")),
      ("URLSession", folder.appending(component: "start-urlsession")),
    ]
  }

  static func table(at server: RunningServer, rounds: Int, _ progress: (String) -> Void) throws -> ResultTable {
    var table = ResultTable(
      key: "start",
      title: "**Cold start** to the end of one request, and the stripped program's size",
      columns: ["program", "ms", "size, MB"], digits: 1)
    let url = server.plain.appending(component: ServedFile.small.name).absoluteString
    var started: [(name: String, path: String, size: Double, times: [Double])] = []
    let folder = FileManager.default.temporaryDirectory.appending(component: "martlet-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (index, program) in programs.enumerated() {
      guard FileManager.default.isExecutableFile(atPath: program.path.path) else {
        progress("left out: \(program.name): \(program.path.path) is not built")
        continue
      }
      let copy = folder.appending(component: "\(index)").path
      _ = try Command.output(of: "/usr/bin/strip", ["-o", copy, program.path.path])
      let size = try FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int ?? 0
      started.append((program.name, copy, Double(size) / 1_000_000, []))
    }
    for round in 0..<rounds * 4 {
      for index in started.indices {
        let command = try Command.run(started[index].path, [url])
        guard command.output == "1024" else { throw BenchError("\(started[index].name): \(command.output)") }
        guard round > 0 else { continue }  // the first one fills the system's cache of files
        started[index].times.append(command.seconds * 1000)
      }
    }
    for program in started {
      table.add(program.name, [Figure(program.times), Figure(program.size)])
    }
    return table
  }
}
