// Bytes are pulled: a reader that pauses makes the server wait, and memory stays flat.

import Martlet

func lineCount(of url: URL, in session: HTTPSession) async throws(HTTPError) -> Int {
  let (body, response) = try await session.bytes(for: HTTPRequest(.get, url))
  guard response.status.isSuccessful else { return 0 }
  var count = 0
  for try await chunk in body { count += chunk.count { $0 == UInt8(ascii: "\n") } }
  return count
}

func send(_ file: URL, to url: URL, in session: HTTPSession) async throws(HTTPError) -> HTTPStatus {
  var request = HTTPRequest(.put, url)
  request.options.listeners = [
    EventHandler { event, _ in
      if case .progress(let progress) = event, progress.direction == .sent { print(progress.fraction ?? 0) }
    }
  ]
  return try await session.upload(for: request, from: .file(file)).1.status
}
