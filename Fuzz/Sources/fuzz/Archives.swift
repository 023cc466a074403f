#if os(Linux)
@testable import MartletEngine
@testable import MartletObservation
import MartletSemantics
import MartletTesting

/// Archives of a browser or any other source. One that can be read is the same after it was written and read again, and
/// its requests are replayed with a response or an error.
enum Archives {
  static func run(_ input: inout Input) throws {
    guard let archive = try? HAR(json: Data(input.bytes)) else { return }
    let json = try archive.json()
    let again = try HAR(json: json)
    let text = try again.json()
    check(text == json, "it is another one after it was written and read")
    let replay = ReplayTransport(archive)
    for entry in replay.unused.prefix(3) {
      guard let method = HTTPMethod(rawValue: entry.request.method), let url = URL(string: entry.request.url) else {
        continue
      }
      do {
        try wait {
          let response = try await replay.send(HTTPRequest(method, url), in: Call())
          _ = try await response.body.collect(upTo: 1 << 20)
        }
      } catch { check(error is HTTPError, "\(error)") }
    }
  }
}

#endif
