import Foundation
import MartletTesting

// A fleet of processes on one Redis server: `make fleet`. It prints the origin's observations, and exits with 1 if a
// promise is broken. With the argument `member`, the program is one of the processes.

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "member" {
  let orders = try JSONDecoder().decode(Orders.self, from: Data(CommandLine.arguments[2].utf8))
  let findings = try await Member(orders).run()
  print(String(decoding: try JSONEncoder().encode(findings), as: UTF8.self))
  exit(0)
}

func orders(_ work: Orders.Work, _ change: (inout Orders) -> Void = { _ in }) -> Orders {
  var orders = Orders(work: work, origin: URL(filePath: "/"), redis: "", prefix: "", number: 0)
  change(&orders)
  return orders
}

let redis = try RedisServer()

let trials = [
  Trial(name: "a cold URL, cache in each process", orders: orders(.cold) { $0.usesRedis = false }),
  Trial(name: "a cold URL, shared cache, each process asks", orders: orders(.cold) { $0.hasLeases = false }),
  Trial(
    name: "a cold URL, shared cache, one asks", orders: orders(.cold),
    check: { _, origin in origin.count == 1 ? nil : "the origin saw \(origin.count) requests instead of 1" }),
  Trial(
    name: "the process that asks is killed", orders: orders(.cold),
    meanwhile: { members, origin in members[origin.firstProcess ?? 0].kill() }, holdsFirst: true, killed: 1,
    check: { _, origin in origin.count == 2 ? nil : "the origin saw \(origin.count) requests instead of 2" }),
  Trial(name: "load", orders: orders(.load) { $0.waitLimit = 20 }),
  Trial(
    name: "load, Redis is stopped for a second", orders: orders(.load) { $0.waitLimit = 20 },
    meanwhile: { _, _ in
      usleep(1_000_000)
      try redis.pause()
      usleep(1_000_000)
      try redis.resume()
    }),
  Trial(
    name: "an access token", orders: orders(.token) { $0.count = 50 },
    check: { _, origin in
      origin.renewals == 1 && origin.reusedTokens == 0
        ? nil : "\(origin.renewals) renewals, and \(origin.reusedTokens) refresh tokens that came twice"
    }),
  Trial(
    name: "a rate limit of 400/s, burst 20", orders: orders(.rate) { ($0.count, $0.seconds) = (400, 5) }, processes: 8,
    check: { _, origin in
      let times = origin.arrivals.sorted()
      guard let first = times.first, let last = times.last, last > first else { return "nothing arrived" }
      let rate = Double(times.count - 20) / (last - first)
      return abs(rate - 400) <= 4 ? nil : "the origin saw \(rate) requests a second instead of 400"
    }),
]

print(Trial.head)
var areKept = true
for trial in trials where try !trial.run(on: redis) { areKept = false }
exit(areKept ? 0 : 1)
