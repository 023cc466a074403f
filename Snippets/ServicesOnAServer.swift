// A service between strangers and an upstream that misbehaves: its refusals, limits, repetitions and counts.

import Martlet
import MartletObservation
import MartletTesting
import Synchronization

// The upstream: one of its resources is busy after two requests, one fails, and one is slow at first.
let served = Served()
let upstream = try LoopbackServer { request in
  let number = served.count(request.path)
  switch request.path {
  case "/busy": return number <= 2 ? .text("ok") : .status(.tooManyRequests, fields: ["Retry-After": "60"])
  case "/fails": return .status(.badGateway)
  case "/slow": return number == 1 ? .text("late").delayed(by: .seconds(2)) : .text("in time")
  default: return .text(request.fields["X-Request-Timeout-Ms"] == nil ? "no deadline" : "a deadline")
  }
}

let admin = upstream.url("/admin")

// URLs from strangers are fetched from the public Internet only.
var connection = ConnectionConfiguration()
connection.addressPolicy = .publicAddresses
connection.proxy = .direct
let guarded = HTTPSession(connection: connection)
do { _ = try await guarded.data(for: HTTPRequest(.get, admin)) } catch {
  print("stranger:", error.kind)
}

// The service's own requests to its upstream have limits.
let metrics = CallMetrics()
var configuration = SessionConfiguration()
configuration.limits.concurrency = ConcurrencyLimit(50, queue: 200, waitLimit: .seconds(2))
configuration.limits.rate = .ofServers
configuration.limits.circuitBreaker = CircuitBreaker()
configuration.limits.hedging = Hedging()
configuration.limits.hedging?.minimumCount = 30
configuration.limits.deadlineField = DeadlineField("X-Request-Timeout-Ms")
configuration.interceptors = [CorrelationInterceptor(trace: .sampled)]
configuration.listeners = [metrics, LogListener(to: StandardErrorLog(format: .json))]

var request = HTTPRequest(.get, upstream.url("/deadline"))
request.options.deadline = .seconds(5)
request.fields["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
let (text, _) = try await HTTPSession(configuration: configuration).text(for: request)
print("deadline:", text)

let busy = HTTPSession(configuration: configuration)
for _ in 1...3 { _ = try await busy.data(for: HTTPRequest(.get, upstream.url("/busy"))) }
do { _ = try await busy.data(for: HTTPRequest(.get, upstream.url("/busy"))) } catch { print("busy:", error.kind) }

let failing = HTTPSession(configuration: configuration)
for _ in 1...10 { _ = try await failing.data(for: HTTPRequest(.get, upstream.url("/fails"))) }
do { _ = try await failing.data(for: HTTPRequest(.get, upstream.url("/fails"))) } catch { print("fails:", error.kind) }

let slow = HTTPSession(configuration: configuration)
for _ in 1...30 { _ = try await slow.data(for: HTTPRequest(.get, upstream.url("/"))) }
let (data, response) = try await slow.data(for: HTTPRequest(.get, upstream.url("/slow")))
print("slow:", String(decoding: data, as: UTF8.self), "after", response.history.count + 1, "requests")

let snapshot = metrics.snapshot()
print("refused by limits:", snapshot["martlet_calls_total"]?.sum(where: ["result": "rateLimited"]) ?? 0)
print(snapshot.text.contains("# TYPE http_client_request_duration_seconds histogram"))

/// Counts the requests of each path.
final class Served: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func count(_ path: String) -> Int {
    counts.withLock { counts in
      counts[path, default: 0] += 1
      return counts[path, default: 0]
    }
  }
}

// Prints:
// stranger: addressRefused
// deadline: a deadline
// busy: rateLimited
// fails: circuitOpen
// slow: in time after 2 requests
// refused by limits: 1.0
// true
