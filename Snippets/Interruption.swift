// Ctrl-C ends a download, and the next run of the program continues it.

import Dispatch
import Foundation
import Martlet
import MartletTesting
import Synchronization

/// Runs work in a task. Ctrl-C cancels the task.
func untilInterrupted<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
  let task = Task { try await work() }
  let interrupt = DispatchSource.makeSignalSource(signal: SIGINT)
  defer { interrupt.cancel() }
  interrupt.setEventHandler { task.cancel() }
  await withCheckedContinuation { isWatching in  // before that, Ctrl-C ends the program
    interrupt.setRegistrationHandler { isWatching.resume() }
    interrupt.activate()
  }
  #if canImport(Darwin)
  signal(SIGINT, SIG_IGN)  // there a source does not prevent the signal from ending the program
  #endif
  return try await task.value
}

@Sendable func download(_ url: URL, to file: URL, in session: HTTPSession) async throws {
  let state = file.appendingPathExtension("resumption")
  let saved = try? JSONDecoder().decode(DownloadResumption.self, from: Data(contentsOf: state))
  do {
    _ = try await untilInterrupted {
      try await session.resumableDownload(for: HTTPRequest(.get, url), to: file, resuming: saved)
    }
    try? FileManager.default.removeItem(at: state)
    print("complete")
  } catch let error as HTTPError {
    try error.resumption.map { try JSONEncoder().encode($0).write(to: state) }
    print(error.isCancelled ? "interrupted" : "failed: \(error)", "after \(error.resumption?.byteCount ?? 0) bytes")
  }
}

/// Presses Ctrl-C once, when the first bytes have arrived.
final class ImpatientUser: EventListener {
  private let hasPressed = Atomic(false)

  func receive(_ event: Event, in call: Call) {
    if case .progress = event, !hasPressed.exchange(true, ordering: .relaxed) { kill(getpid(), SIGINT) }
  }
}

let film = Data(count: 1 << 20)
// The section nginx-file of server-fields.txt.
let whole: HTTPFields = [
  "Server": "nginx/1.22.1", "Content-Type": "video/mp4", "Last-Modified": "Fri, 27 Nov 2026 09:30:56 GMT",
  "ETag": "\"6b094dd0-100000\"", "Accept-Ranges": "bytes",
]
// The section nginx-part of server-fields.txt.
let part: HTTPFields = [
  "Server": "nginx/1.22.1", "Content-Type": "video/mp4", "Last-Modified": "Fri, 27 Nov 2026 09:30:56 GMT",
  "ETag": "\"6b094dd0-100000\"",
]
let server = try LoopbackServer { request in
  guard request.fields[.range] == "bytes=1000-", request.fields[.ifRange] == whole[.eTag] else {
    return Reply(fields: whole, content: film).stalled(after: 1000)
  }
  return Reply(status: .partialContent, fields: part, content: film.dropFirst(1000))
    .with(.contentRange, "bytes 1000-\(film.count - 1)/\(film.count)")
}
let file = URL(filePath: "film.mp4")
var watched = SessionConfiguration()
watched.listeners = [ImpatientUser()]

try await download(server.url("/film"), to: file, in: HTTPSession(configuration: watched))
try await download(server.url("/film"), to: file, in: HTTPSession())
print(try Data(contentsOf: file) == film)

// Prints:
// interrupted after 1000 bytes
// complete
// true
