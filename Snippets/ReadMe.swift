// The README's examples, each as it could appear in a program. Examples that need the internet or a service are only
// compiled.

import Martlet

import MartletImages
import MartletSQLite
import MartletTasks
import MartletTesting
import SAPFoundation

func first() async {
  do {
    let page = HTTPRequest(.get, "https://example.com/", query: [("q", "a+b c")])
    let (text, response) = try await HTTPSession.shared.text(for: page, expecting: .successful)
    print(response.status, text.count)
  } catch HTTPError.Kind.cannotResolveHost {
    print("is there a network?")
  } catch {
    print(error)  // kind, message, method and URL, never a secret
  }
}

func modules() async throws {
  // MartletSQLite: storage on disk, here for the session of a service
  var configuration = SessionConfiguration()
  configuration.baseURL = URL(string: "https://api.example.com/v1")
  configuration.options.retryPolicy = .standard  // backoff, Retry-After, a budget
  configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: URL(filePath: "cache.sqlite")))
  configuration.options.cachePolicy = .returnCacheDataIfOffline
  let session = HTTPSession(configuration: configuration)

  // MartletTasks: requests as values, sent when they are run; an authenticator, a container, mocks
  struct Category: Codable, Sendable { var title: String }
  Container.shared.environment = .single { NetworkEnvironment(baseURL: URL(string: "https://api.example.com/v1")) }
  let task: NetworkTask<[Category]> = NetworkRequest().path("/categories").queryItem(name: "tag", value: "new").task()
  print(try await task.value())  // or .value { result in }, or .valueProvider()

  // MartletImages: JPEG, PNG, WebP and GIF, each loaded and scaled once, with limits for hostile files
  let photo = ImageRequest(HTTPRequest(.get, "film.webp"), targetSize: PixelSize(width: 96, height: 96))
  let image = try await ImageLoader(session: session).image(for: photo)
  print(image.bitmap.size, image.source)

  // SAPFoundation: SAP's documented session, also on Linux
  let mobile = SAPURLSession()
  mobile.register(SAPcpmsObserver(applicationID: "com.example.shop", deviceID: nil))
}

func testing() async throws {
  let session = HTTPSession(transport: MockTransport { request in .json(#"{"answer": 42}"#) })
  print(try await session.value(of: [String: Int].self, for: HTTPRequest(.get, "https://a.example/")).0)

  // MartletTesting: mocks, recordings, and a real server that misbehaves
  let server = try LoopbackServer { request in .text("hello").stalled(after: 2) }
  var request = HTTPRequest(.get, server.url)
  request.options.idleTimeout = .milliseconds(100)
  do { _ = try await HTTPSession.shared.data(for: request) } catch { print(error.kind) }
}

try await testing()

// Prints:
// ["answer": 42]
// idleTimeout
