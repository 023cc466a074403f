// Bytes are pulled: a reader that pauses makes the server wait, and memory use stays constant.

import Martlet
import MartletTesting

func lineCount(of url: URL, in session: HTTPSession) async throws(HTTPError) -> Int {
  let (body, _) = try await session.bytes(for: HTTPRequest(.get, url), expecting: .successful)
  var count = 0
  for try await chunk in body { count += chunk.count { $0 == UInt8(ascii: "\n") } }
  return count
}

func send(_ file: URL, to url: URL, in session: HTTPSession) async throws(HTTPError) -> HTTPStatus {
  var request = HTTPRequest(.put, url)
  request.options.listeners = [
    EventHandler(.progress) { event, _ in
      if case .progress(let progress) = event, progress.direction == .sent, progress.fraction == 1 { print("all sent") }
    }
  ]
  return try await session.upload(for: request, from: .file(file)).1.status
}

let server = try LoopbackServer { request in
  request.method == .put ? .status(.created) : .repeating(Data("line\n".utf8), length: 50 << 20)
}
let file = URL(filePath: "upload.bin")
try Data(count: 1 << 20).write(to: file)

let session = HTTPSession()
print(try await lineCount(of: server.url("/log"), in: session))
print(try await send(file, to: server.url("/upload"), in: session))

// Prints:
// 10485760
// all sent
// 201 Created
