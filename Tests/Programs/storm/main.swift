import Foundation
import Martlet
import MartletTesting
import Storm
import TestServers

// Cancels operations of all entry points at random moments, until the time is over. Ends with 1 if something went
// wrong.
//
//     storm [--minutes N] [--count N] [--threads N] [--only TEXT]
//
//     --minutes  how long it runs; 10 by default. Each round runs all entry points, and at least one round is run
//     --count    the number of operations of an entry point in a round; 10000 by default
//     --threads  the number of threads that start operations; 4 by default
//     --only     only entry points whose name contains the text
func option(_ name: String) -> String? {
  let arguments = CommandLine.arguments
  return arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
}

/// Prints a line at once, so that the output shows what ran when a run was ended.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let minutes = option("--minutes").flatMap(Double.init) ?? 10
let count = option("--count").flatMap(Int.init) ?? 10_000
let threads = option("--threads").flatMap(Int.init) ?? 4
let end = Date() + minutes * 60

let nginx = try Nginx()
var overHTTP2 = ConnectionConfiguration()
overHTTP2.tls.authorities = nginx.authority.folder.file("ca.pem")
let services = [
  ("HTTP/1.1", try StormService()), ("HTTP/2", try StormService(at: nginx.tls("/"), connection: overHTTP2)),
]

var operations = 0
var problems: [String] = []
repeat {
  for (name, service) in services {
    let entries = EntryPoint.all(of: service).filter { entry in option("--only").map(entry.name.contains) ?? true }
    for entry in entries where problems.count < 20 {
      let started = Date()
      let (done, found) = await Storm(service, threads: threads).run(entry, count: count)
      operations += done
      problems += found.map { "\(name), \($0)" }
      let seconds = Date().timeIntervalSince(started)
      say("\(name), \(entry.name): \(done) operations in \(Int(seconds)) s, \(found.isEmpty ? "sound" : "FAILED")")
      for problem in found { say("  \(problem)") }
    }
  }
} while Date() < end && problems.isEmpty
say(problems.isEmpty ? "\(operations) operations, all sound" : "\(operations) operations, \(problems.count) problems")
exit(problems.isEmpty ? 0 : 1)
