import Martlet
import MartletEngine
@testable import MartletImages
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

/// A server and a loader. The session has no cache, unless a test sets one.
struct LoadingFixture {
  let server: LoopbackServer
  let session: HTTPSession
  let loader: ImageLoader

  init(
    cache: HTTPCache? = nil, limits: OriginLimits = OriginLimits(), listeners: [any EventListener] = [],
    _ change: (inout ImageLoader.Configuration) -> Void = { _ in }, respond: @escaping LoopbackServer.Responder
  ) throws {
    server = try LoopbackServer(respond: respond)
    var settings = SessionConfiguration()
    settings.cache = cache
    settings.limits = limits
    settings.listeners = listeners
    session = HTTPSession(configuration: settings)
    var configuration = ImageLoader.Configuration()
    change(&configuration)
    loader = ImageLoader(session: session, configuration: configuration)
  }

  /// Returns a request for an image of the server.
  func picture(_ target: String = "/a.jpg", fitting size: Int? = nil) -> ImageRequest {
    ImageRequest(server.url(target), targetSize: size.map { PixelSize(width: $0, height: $0) })
  }

  /// Starts to load an image. When it returns, the caller waits for the load.
  func begin(_ request: ImageRequest) -> Task<LoadedImage, any Error> {
    Task(executorPreference: InlineExecutor()) { try await loader.image(for: request) }
  }

  /// Returns when the load of an image has no more waiters.
  func ended(_ request: ImageRequest) async throws { try await until { loader.waiterCount(for: request) == 0 } }
}

/// Runs a task on the thread that starts or resumes it: a new task runs until it waits for something.
private final class InlineExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

extension Reply {
  static func picture(_ name: String = "baseline.jpg") throws -> Reply {
    .data(try Fixture.data(name), type: "image/jpeg")
  }
}

/// A list of events that a test can wait for.
final class Journal<Entry: Sendable>: Sendable {
  private let log = Awaitable<[Entry]>([])
  var entries: [Entry] { log.value }

  func append(_ entry: Entry) { log.update { $0.append(entry) } }

  /// Returns when there is this number of entries.
  func waitForEntries(_ count: Int) async throws { _ = try await log.wait { $0.count >= count ? true : nil } }
}

extension ImagePhase {
  /// A short name, for comparison.
  var name: String {
    switch self {
    case .empty: "empty"
    case .loading(let progress): progress.map { "loading \($0.completed) of \($0.total ?? -1)" } ?? "loading"
    case .preview: "preview"
    case .success: "success"
    case .failure(let error): "failure: \(error.kind)"
    @unknown default: "unknown"
    }
  }
}
