// Ways to observe a session: one log line per call, an archive for a browser's tools, an indicator, a curl command.

import Martlet
import MartletObservation
import MartletTesting

let recorder = HARRecorder()
let counter = TaskCounter()  // or with delays, against flicker

var configuration = SessionConfiguration()
configuration.listeners = [LogListener(to: StandardErrorLog(from: .debug)), recorder, counter]
let session = HTTPSession(transport: MockTransport { _ in .text("hello") }, configuration: configuration)

counter.onChange { running, isActive in print(isActive ? "loading \(running)…" : "done") }

if let url = URL(string: "https://example.com/report?access_token=secret") {
  let request = HTTPRequest(.get, url, fields: [.accept: "application/json"])
  print(request.curlCommand())  // the token is ***
  _ = try await session.data(for: request)
  try recorder.write(to: URL(filePath: "session.har"))
  print(recorder.har.log.entries.map(\.request.url))
}

// Prints:
// done
// curl 'https://example.com/report?access_token=***' \
//   -H 'Accept: application/json' \
//   -H 'User-Agent:' \
//   --compressed \
//   -L --max-redirs 20 --proto-redir =https
// loading 1…
// done
// ["https://example.com/report?access_token=***"]
