// One request, and what can go wrong with it.

import Martlet
import MartletTesting

let server = try LoopbackServer { _ in .text("hello") }
let url = server.url("/greeting")

do {
  let (data, response) = try await HTTPSession.shared.data(for: HTTPRequest(.get, url))
  print(response.status, data.count)
} catch  where error.isTimeout {
  print("too slow:", error)
} catch {
  print(error)  // an HTTPError: kind, message, host and phase, never a secret
}

// Prints:
// 200 OK 5
