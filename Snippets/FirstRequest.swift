// One request, and what can go wrong with it.

import Martlet

guard let url = CommandLine.arguments.last.flatMap(URL.init(string:)) else { fatalError("usage: FirstRequest URL") }

do {
  let (data, response) = try await HTTPSession.shared.data(for: HTTPRequest(.get, url))
  print(response.status, data.count)
} catch  where error.isTimeout {
  print("too slow:", error)
} catch {
  print(error)  // an HTTPError: kind, message, host and phase, never a secret
}
