// Events as they arrive, over as many connections as necessary, and a download that continues where it stopped.

import Martlet
import MartletTesting

func printPrices(from url: URL, in session: HTTPSession) async throws(HTTPError) {
  var events = session.events(for: HTTPRequest(.get, url))
  events.failureLimit = 10  // in a row; unlimited by default
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
let server = try LoopbackServer { request in
  switch request.path {
  case "/prices" where request.fields["Last-Event-ID"] != nil: .status(.noContent)  // the end
  case "/prices": .data(Data("retry: 0\nid: 1\nevent: price\ndata: 12.50\n\n".utf8), type: "text/event-stream")
  case "/film" where request.fields[.range] == "bytes=1000-":
    .data(film.dropFirst(1000), status: .partialContent).with(.eTag, "\"1\"")
      .with(.contentRange, "bytes 1000-\(film.count - 1)/\(film.count)")
  default: .data(film).with(.eTag, "\"1\"").truncated(after: 1000)
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
