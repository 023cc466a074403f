// One request and its possible errors.

import Martlet
import MartletTesting

let server = try LoopbackServer { _ in .text("hello") }
let url = server.url("/greeting")

let reading = Task {
  do {
    let (text, response) = try await HTTPSession.shared.text(for: HTTPRequest(.get, url))
    print(response.status, text)
  } catch let error as HTTPError where error.isTimeout {
    print("too slow:", error)
  } catch HTTPError.Kind.cannotConnect {
    print("there is no server")
  } catch {
    print(error)  // an HTTPError: kind, message, host and phase, never a secret
  }
}
await reading.value

// Prints:
// 200 OK hello
