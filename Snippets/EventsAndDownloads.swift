// Events as they come, over as many connections as it takes; and a download that goes on where it stopped.

import Martlet

func printPrices(from url: URL, in session: HTTPSession) async throws(HTTPError) {
  var events = session.events(for: HTTPRequest(.get, url))
  events.failureLimit = 10  // in a row; for ever by default
  for try await event in events where event.type == "price" {
    print(event.id, event.data)
  }
}

func fetch(_ url: URL, to file: URL, in session: HTTPSession, after saved: DownloadResumption?) async
  -> DownloadResumption?
{
  do {
    _ = try await session.resumableDownload(for: HTTPRequest(.get, url), to: file, resuming: saved)
    return nil
  } catch {
    return error.resumption  // Codable: for the next run
  }
}
