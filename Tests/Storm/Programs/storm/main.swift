import Foundation
import Martlet
import MartletTesting
import Storm
import TestServers

// Cancels operations of all entry points at random moments, and lets all stores lose their files and processes, until
// the time is over. Ends with 1 if something went wrong.
//
//     storm [--minutes N] [--count N] [--threads N] [--only TEXT]
//     storm write STORE FOLDER FIRST COUNT LOSS     the process of a store, which prints what the store has accepted
//
//     --minutes  how long it runs; 10 by default. Each round runs all entry points, and at least one round is run
//     --count    the number of operations of an entry point in a round; 10000 by default
//     --threads  the number of threads that start operations; 4 by default
//     --only     only entry points and stores whose name contains the text
func option(_ name: String) -> String? {
  let arguments = CommandLine.arguments
  return arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
}

/// Prints a line at once, so that the output shows what ran when a run was ended.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let words = Array(CommandLine.arguments.dropFirst())
if words.first == "write", words.count == 6, let first = Int(words[3]), let count = Int(words[4]) {
  await LossyStore.write(words[1], words[2], from: first, count: count, words[5])
  exit(0)
}

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
  for store in LossyStore.all where problems.count < 20 && option("--only").map(store.name.contains) ?? true {
    let (started, losses) = (Date(), StoreLosses(program: CommandLine.arguments[0]))
    var found: [String] = []
    for loss in StoreLoss.allCases {
      for _ in 0..<max(1, count / (store.isSlow ? 5_000 : 1_000)) {
        found += await losses.run(store, loss).map { "\(store.name), \(loss): \($0)" }
        operations += 1
      }
    }
    problems += found
    let seconds = Int(Date().timeIntervalSince(started))
    say("losses of \(store.name): \(seconds) s, \(found.isEmpty ? "sound" : "FAILED")")
    for problem in found { say("  \(problem)") }
  }
} while Date() < end && problems.isEmpty
say(problems.isEmpty ? "\(operations) operations, all sound" : "\(operations) operations, \(problems.count) problems")
exit(problems.isEmpty ? 0 : 1)
