// A test against a real server, recorded once with MARTLET_RECORD=1 and from then on replayed offline.

import Martlet
import MartletTesting

let server = try LoopbackServer { _ in .json(#"{"orders": []}"#) }
let url = server.url("/orders?page=1")
let fixture = URL(filePath: "Fixtures/orders.har")

// Here it is recorded by hand.
let recorded = try Recording(file: fixture, mode: .record, around: DefaultTransport())
_ = try await HTTPSession(transport: recorded).data(for: HTTPRequest(.get, url))
try recorded.save()
server.stop()

let recording = try Recording(file: fixture, around: DefaultTransport())  // MARTLET_RECORD=1 sends it to the server
let session = HTTPSession(transport: recording)
let (data, response) = try await session.data(for: HTTPRequest(.get, url))
print(response.status, data.count, recording.isRecording)
try recording.save()

// The rules by which requests are the same, and a check whether the recording is still good.
var matching = ReplayMatching()
matching.host = false
matching.query = .except(["timestamp"])
let replay = try ReplayTransport(file: fixture, matching: matching)
for entry in replay.unused { print("nobody asked for", entry.request.method) }
print(replay.isOlder(than: .seconds(90 * 86_400)) ? "\(fixture.path) is old: record it again" : "fresh")

// Prints:
// 200 OK 14 false
// nobody asked for GET
// fresh
