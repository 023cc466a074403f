import Foundation
import MartletTesting

/// One line of the table: some processes with the same orders, and their results.
struct Trial {
  let name: String
  var orders: Orders
  var processes = 4
  /// The action while they run; called when the origin has received the first request.
  var meanwhile: (_ members: [ChildProcess], _ origin: Origin) throws -> Void = { _, _ in }
  var holdsFirst = false
  /// The number of processes that are killed during the trial.
  var killed = 0
  /// The broken promise; nil if there is none.
  var check: (Findings, Origin) -> String? = { _, _ in nil }

  /// Runs the processes, prints a line, and returns whether every promise was kept.
  func run(on redis: RedisServer) throws -> Bool {
    let origin = try Origin(processes: processes, holdsFirst: holdsFirst)
    var orders = orders
    (orders.origin, orders.redis, orders.prefix) = (origin.url, redis.url, "\(UUID()):")
    var members: [ChildProcess] = []
    for number in 0..<processes {
      orders.number = number
      let argument = String(decoding: try JSONEncoder().encode(orders), as: UTF8.self)
      members.append(try ChildProcess(CommandLine.arguments[0], ["member", argument], output: .read))
    }
    // A process that does not arrive is found by its output.
    let limit = ContinuousClock.now + .seconds(60)
    while origin.count == 0, ContinuousClock.now < limit { usleep(1_000) }
    if origin.count > 0 { try meanwhile(members, origin) } else { for member in members { member.kill() } }
    var findings = Findings()
    var lost = 0
    for member in members {
      let output = member.readToEnd()
      guard member.succeeds(), let found = try? JSONDecoder().decode(Findings.self, from: output) else {
        lost += 1
        continue
      }
      findings.add(found)
    }
    return report(findings, origin, lost: lost)
  }

  private func report(_ findings: Findings, _ origin: Origin, lost: Int) -> Bool {
    var broken: [String] = []
    if findings.wrong > 0 { broken.append("\(findings.wrong) wrong bodies") }
    if let first = findings.failed.first { broken.append("\(findings.failed.count) failed, such as \(first)") }
    if lost != killed { broken.append("\(lost) processes did not come back, and \(killed) were killed") }
    if let message = check(findings, origin) { broken.append(message) }
    let requests = findings.latencies.count + findings.failed.count
    print(
      "| \(name) | \(processes) | \(requests) | \(origin.count) | \(findings.failed.count) | \(findings.wrong) | "
        + "\(Self.text(findings.percentile(0.5))) | \(Self.text(findings.percentile(0.99))) | "
        + "\(broken.isEmpty ? "kept" : "BROKEN: " + broken.joined(separator: "; ")) |")
    fflush(nil)
    return broken.isEmpty
  }

  private static func text(_ milliseconds: Double) -> String { "\((milliseconds * 10).rounded() / 10)" }

  static let head = """
    | trial | processes | requests | origin saw | failed | wrong | p50 ms | p99 ms | promises |
    |---|---|---|---|---|---|---|---|---|
    """
}
