// An interceptor that sends requests again until a job has ended, and a listener that reports every attempt.

import Martlet
import MartletTesting

/// Follows a 202 to its result: requests the `Location` until it is ready (RFC 9110 §15.3.3).
struct JobPolling: Interceptor {
  var stages: InterceptorStages { .review }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, response.status == .accepted,
      let location = response.fields[.location], let url = URL(string: location, relativeTo: response.url),
      Origin(url) == Origin(response.url)
    else { return .accept }
    return .resend(HTTPRequest(.get, url.absoluteURL), after: .milliseconds(1), reason: "the job has not ended")
  }
}

struct Trace: EventListener {
  let events: Event.Kinds = [.attempt, .resend, .finished]

  func receive(_ event: Event, in call: Call) {
    switch event {
    case .attempt(let number, let request): print("attempt \(number):", request.method, request.url.path)
    case .resend(_, _, let reason, _): print("again, because", reason)
    case .finished(let error): print("ended", error?.kind.name ?? "without an error")
    default: break
    }
  }
}

let server = try LoopbackServer { request in
  request.path == "/jobs/1" ? .text("a report") : .status(.accepted, fields: [.location: "/jobs/1"])
}
var configuration = SessionConfiguration()
configuration.interceptors = [CorrelationInterceptor(), JobPolling()]
configuration.listeners = [Trace()]
let session = HTTPSession(configuration: configuration)

let (data, response) = try await session.data(for: HTTPRequest(.post, server.url("/reports")))
print(String(decoding: data, as: UTF8.self), "after", response.history.map(\.reason))

// Prints:
// attempt 1: POST /reports
// again, because the job has not ended
// attempt 2: GET /jobs/1
// ended without an error
// a report after ["the job has not ended"]
