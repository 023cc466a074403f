// Events as they arrive, over as many connections as necessary, and a download that continues where it stopped.

import Martlet
import MartletTesting

func printPrices(from url: URL, in session: HTTPSession) async throws(HTTPError) {
  var events = session.events(for: HTTPRequest(.get, url))
  events.failureLimit = 10  // in a row; unlimited by default
  events.reconnectStatuses = ServerSentEvents.temporaryStatuses  // 429, 502, 503 and 504; none by default
  for try await event in events where event.type == "price" {
    print(event.id, event.data)
  }
}

func fetch(_ url: URL, to file: URL, in session: HTTPSession, after saved: DownloadResumption?) async
  -> DownloadResumption?
{
  do {
    let response = try await session.resumableDownload(for: HTTPRequest(.get, url), to: file, resuming: saved)
    print(response.status)
    return nil
  } catch {
    return error.resumption  // Codable: for the next run
  }
}

let film = Data(count: 1 << 20)
// The section s3-part of server-fields.txt.
let stored: HTTPFields = [
  "x-amz-id-2": "MzRISOwyjmnupCzjI1WC06l5TTAzm7/JypPGXLh0OVFGcJaaO3KW/hRAqKOpIEEp",
  "x-amz-request-id": "47622117804B3E11", "x-amz-meta-title": "the title",
  "Last-Modified": "Fri, 28 Jan 2011 20:10:32 GMT", "ETag": "\"b2419b1e3fd45d596ee22bdf62aaaa2f\"",
  "Accept-Ranges": "bytes", "Content-Type": "text/plain", "Server": "AmazonS3",
]
let server = try LoopbackServer { request in
  switch request.path {
  case "/prices" where request.fields["Last-Event-ID"] != nil: .status(.noContent)  // the end
  case "/prices": .data(Data("retry: 0\nid: 1\nevent: price\ndata: 12.50\n\n".utf8), type: "text/event-stream")
  case "/film" where request.fields[.range] == "bytes=1000-":
    Reply(status: .partialContent, fields: stored, content: film.dropFirst(1000))
      .with(.contentRange, "bytes 1000-\(film.count - 1)/\(film.count)")
  default: Reply(fields: stored, content: film).truncated(after: 1000)
  }
}

let session = HTTPSession()
try await printPrices(from: server.url("/prices"), in: session)

let file = URL(filePath: "film.mp4")
var saved = await fetch(server.url("/film"), to: file, in: session, after: nil)
print(saved?.byteCount ?? 0, "bytes for now")
saved = await fetch(server.url("/film"), to: file, in: session, after: saved)
print(try Data(contentsOf: file) == film)

// Prints:
// 1 12.50
// 1000 bytes for now
// 206 Partial Content
// true
