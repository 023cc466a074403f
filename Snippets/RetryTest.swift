// Retries, tested without waiting: answers from a list, and a clock that the test advances.

import Martlet
import MartletTesting

let script = ScriptedTransport(
  .failure(HTTPError(.connectionLost, "the connection was lost")),
  .status(.serviceUnavailable, fields: [.retryAfter: "30"]),
  .json(#"{"answer": 42}"#))
let clock = ManualClock()

var configuration = SessionConfiguration()
configuration.options.retryPolicy = .standard
// The maximum delay of the backoff: 250 milliseconds before the first retry.
configuration.options.retryPolicy.random = { 1 }
configuration.clock = clock
let session = HTTPSession(transport: script, configuration: configuration)

if let url = URL(string: "https://example.com/answer") {
  let answer = Task { try await session.value(of: [String: Int].self, for: HTTPRequest(.get, url)) }
  for delay in [Duration.milliseconds(250), .seconds(30)] {
    try await clock.sleepers(1, within: delay)  // the session waits before it sends again; a deadline is not counted
    clock.advance(by: delay)
  }
  let (value, response) = try await answer.value
  print(value, response.history.count, script.remaining)
}

// Prints:
// ["answer": 42] 2 0
