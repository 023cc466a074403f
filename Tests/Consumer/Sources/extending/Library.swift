import Martlet

/// A stranger's API over a session: it names its resources, decodes its values and explains its failures.
struct Library: Sendable {
  struct Book: Decodable, Sendable {
    let title: String
    let visits: Int
  }

  enum Failure: Error {
    case unknownBook(String)
    case notAllowed
    case other(HTTPError)
  }

  private let session: HTTPSession
  private let address: URL

  init(at address: URL, over transport: any Transport, _ source: any CredentialSource, _ cookies: any CookieStore) {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.cookies = CookieJar(store: cookies)
    configuration.credentials = [source]
    session = HTTPSession(transport: transport, configuration: configuration)
    self.address = address
  }

  func book(_ name: String) async throws -> Book {
    do {
      return try await session.value(of: Book.self, for: HTTPRequest(.get, address.appending(path: name))).0
    } catch {
      switch error.response?.status {
      case .notFound: throw Failure.unknownBook(name)
      case .unauthorized: throw Failure.notAllowed
      default: throw Failure.other(error)
      }
    }
  }
}
