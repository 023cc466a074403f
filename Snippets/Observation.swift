// What a session does, seen: a log line an exchange, an archive for a browser's tools, an indicator, a curl command.

import Martlet

let recorder = HARRecorder()
let counter = TaskCounter(showsAfter: .milliseconds(200), hidesAfter: .milliseconds(500))

var configuration = SessionConfiguration()
configuration.listeners = [LogListener(to: StandardErrorLog(from: .debug)), recorder, counter]
let session = HTTPSession(configuration: configuration)

counter.onChange { running, isActive in print(isActive ? "loading \(running)…" : "done") }

if let url = URL(string: "http://127.0.0.1:8000/report?access_token=secret") {
  let request = HTTPRequest(.get, url, fields: [.accept: "application/json"])
  print(request.curlCommand())  // the token is ***
  _ = try? await session.data(for: request)
  try? recorder.write(to: URL(filePath: "session.har"))
}
