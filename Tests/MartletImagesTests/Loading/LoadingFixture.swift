import Martlet
import MartletEngine
import MartletImages
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// A server with a loader in front of it. The session keeps nothing, unless a test gives it a cache.
struct LoadingFixture {
  let server: LoopbackServer
  let session: HTTPSession
  let loader: ImageLoader

  init(
    cache: HTTPCache? = nil, _ change: (inout ImageLoader.Configuration) -> Void = { _ in },
    respond: @escaping LoopbackServer.Responder
  ) throws {
    server = try LoopbackServer(respond: respond)
    var settings = SessionConfiguration()
    settings.cache = cache
    session = HTTPSession(configuration: settings)
    var configuration = ImageLoader.Configuration()
    change(&configuration)
    loader = ImageLoader(session: session, configuration: configuration)
  }

  /// The request for a picture of the server.
  func picture(_ target: String = "/a.jpg", fitting size: Int? = nil) -> ImageRequest {
    ImageRequest(server.url(target), targetSize: size.map { PixelSize(width: $0, height: $0) })
  }

  /// Begins to load a picture, and returns when so many wait for it.
  func begin(_ request: ImageRequest, waiting count: Int = 1) async -> Task<LoadedImage, any Error> {
    let task = Task { try await loader.image(for: request) }
    while loader.waiting(for: request) < count { await Task.yield() }
    return task
  }

  func ended(_ request: ImageRequest) async {
    while loader.waiting(for: request) > 0 { await Task.yield() }
  }
}

extension Reply {
  static func picture(_ name: String = "baseline.jpg") throws -> Reply {
    .data(try Fixture.data(name), type: "image/jpeg")
  }
}

/// What happened, in order.
final class Journal<Entry: Sendable>: Sendable {
  private let log = Mutex<[Entry]>([])
  var entries: [Entry] { log.withLock { $0 } }

  func append(_ entry: Entry) { log.withLock { $0.append(entry) } }
}

extension ImagePhase {
  /// In a word, for comparing.
  var name: String {
    switch self {
    case .empty: "empty"
    case .loading(let progress): progress.map { "loading \($0.completed) of \($0.total ?? -1)" } ?? "loading"
    case .preview: "preview"
    case .success: "success"
    case .failure(let error): "failure: \(error.kind)"
    }
  }
}
