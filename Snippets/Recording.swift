// A test against a real server, recorded once with MARTLET_RECORD=1 and replayed offline ever after.

import Martlet
import MartletTesting

if let url = URL(string: "http://127.0.0.1:8000/orders?page=1") {
  var matching = ReplayMatching()
  matching.host = false
  matching.query = .except(["timestamp"])

  let file = URL(filePath: "Fixtures/orders.har")
  let recording = try Recording(file: file, around: CurlTransport(), matching: matching)
  let session = HTTPSession(transport: recording)
  let (data, response) = try await session.data(for: HTTPRequest(.get, url))
  print(response.status, data.count)
  try recording.save()

  if let replay = recording.replay {
    for entry in replay.unused { print("nobody asked for", entry.request.method, entry.request.url) }
    if replay.isOlder(than: .seconds(90 * 86_400)) { print("\(file.path) is old: record it again") }
  }
}
