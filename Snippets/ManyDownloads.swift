// Several downloads, two at a time, as one sequence. What fails continues in the next run.

import Martlet
import MartletTesting

func fetch(_ films: [FileDownload], in session: HTTPSession) async -> [FileDownload] {
  var left: [FileDownload] = []
  for await update in session.downloads(films, atOnce: 2) {
    switch update {
    case .progress(let index, let progress):
      if progress.fraction == 1 { print(films[index].destination.lastPathComponent, "has arrived") }
    case .ended(let index, .failure(let error)):
      print(films[index].destination.lastPathComponent, error.kind, "after", error.resumption?.byteCount ?? 0, "bytes")
      var film = films[index]
      film.resumption = error.resumption  // Codable, if the next run is that of another process
      left.append(film)
    case .ended: break
    @unknown default: break
    }
  }
  return left
}

let content = Data(count: 100_000)
// The section s3-part of server-fields.txt.
let stored: HTTPFields = [
  "x-amz-id-2": "MzRISOwyjmnupCzjI1WC06l5TTAzm7/JypPGXLh0OVFGcJaaO3KW/hRAqKOpIEEp",
  "x-amz-request-id": "47622117804B3E11", "x-amz-meta-title": "the title",
  "Last-Modified": "Fri, 28 Jan 2011 20:10:32 GMT", "ETag": "\"b2419b1e3fd45d596ee22bdf62aaaa2f\"",
  "Accept-Ranges": "bytes", "Content-Type": "text/plain", "Server": "AmazonS3",
]
let server = try LoopbackServer { request in
  if request.fields[.range] == "bytes=40000-" {
    return Reply(status: .partialContent, fields: stored, content: content.dropFirst(40_000))
      .with(.contentRange, "bytes 40000-\(content.count - 1)/\(content.count)")
  }
  let reply = Reply(fields: stored, content: content)
  return request.path == "/2" ? reply.truncated(after: 40_000) : reply
}
let session = HTTPSession()
let folder = try TemporaryFolder()

let films = (1...2).map { FileDownload(HTTPRequest(.get, server.url("/\($0)")), to: folder.file("film-\($0)")) }
let left = await fetch([films[0]], in: session) + fetch([films[1]], in: session)
print(await fetch(left, in: session).count, "left")
print(try films.allSatisfy { try Data(contentsOf: $0.destination) == content })

// Prints:
// film-1 has arrived
// film-2 connectionLost after 40000 bytes
// film-2 has arrived
// 0 left
// true
