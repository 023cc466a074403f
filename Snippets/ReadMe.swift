// What the README shows, each as it could stand in a program. What needs the internet or a service is compiled only.

import Martlet
import MartletImages
import MartletSQLite
import MartletTasks
import MartletTesting
import SAPFoundation

func first() async {
  do {
    let page = HTTPRequest(.get, "https://example.com/search", query: [("q", "a+b c")])
    let (text, response) = try await HTTPSession.shared.text(for: page, expecting: .successful)
    print(response.status, text.count)
  } catch HTTPError.Kind.responseTimeout {
    print("too slow")
  } catch HTTPError.Kind.cannotResolveHost {
    print("is there a network?")
  } catch {
    print(error)  // kind, message, method and URL, never a secret
  }
}

func service() async throws {
  struct Order: Codable { var id: Int, lines: [String] }

  var configuration = SessionConfiguration()
  configuration.baseURL = URL(string: "https://api.example.com/v1")
  configuration.interceptors = [CorrelationInterceptor(), LanguageInterceptor()]
  configuration.retry = .standard  // backoff, Retry-After, a budget
  configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: URL(filePath: "cache.sqlite")))
  configuration.options.cachePolicy = .returnCacheDataIfOffline
  configuration.listeners = [LogListener()]  // a line for each call
  let session = HTTPSession(configuration: configuration)

  let draft = Order(id: 0, lines: ["film"])
  let (order, _) = try await session.value(of: Order.self, for: HTTPRequest(.post, "orders", body: try .json(draft)))
  for try await event in session.events(for: HTTPRequest(.get, "prices")) { print(order.id, event.data) }  // reconnects
}

func shop() async throws {
  struct Category: Codable, Sendable { var title: String }
  func categories(tags: [String]) -> NetworkTask<[Category]> {
    NetworkRequest().path("/categories").queryItem(name: "tag", value: tags).task()
  }

  let found = try await categories(tags: ["new"]).value()  // or .value { result in }, or .valueProvider()
  let response = await categories(tags: ["new"]).execute()  // the status too, and the failure as a value
  print(found.count, response.statusCode ?? 0)
}

func picture() async throws {
  let photo = HTTPRequest(.get, "https://example.com/film.webp")
  let thumbnail = ImageRequest(photo, targetSize: PixelSize(width: 96, height: 96), contentMode: .fill)
  let image = try await ImageLoader(session: .shared).image(for: thumbnail)
  print(image.bitmap.size, image.source)
}

func sap(_ backend: URL) {
  let session = SAPURLSession()
  session.register(SAPcpmsObserver(applicationID: "com.example.shop", deviceID: nil))
  session.register(CSRFTokenObserver(rootUrl: backend))
  session.dataTask(with: backend) { data, response, error in print(data?.count ?? 0, error ?? "no error") }.resume()
}

func testing() async throws {
  let session = HTTPSession(transport: MockTransport { request in .json(#"{"answer": 42}"#) })
  print(try await session.value(of: [String: Int].self, for: HTTPRequest(.get, "https://a.example/")).0)

  let server = try LoopbackServer { request in .text("hello").stalled(after: 2) }
  var request = HTTPRequest(.get, server.url)
  request.options.idleTimeout = .milliseconds(100)
  do { _ = try await HTTPSession.shared.data(for: request) } catch { print(error.kind) }
}

try await testing()

// Prints:
// ["answer": 42]
// idleTimeout
