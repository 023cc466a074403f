public import MartletEngine
public import MartletSemantics
import Martlet
import Synchronization

/// Loads pictures: each once, however many ask for it, in the size that is needed, and keeps them in memory.
///
/// ```swift
/// let loader = ImageLoader(session: session)
/// let image = try await loader.image(for: url)
/// let small = try await loader.image(for: ImageRequest(url, targetSize: PixelSize(width: 96, height: 96)))
/// for await phase in loader.phases(for: ImageRequest(url)) { print(phase) }   // placeholder, progress, picture or error
/// ```
///
/// Callers of the same picture wait for one load, callers of other sizes of it for one download. A caller that is cancelled
/// leaves alone; when the last one has left, the load is cancelled. Files come through the session, and are kept by its cache
/// alone, as long and as the origin allows; decoded pictures are kept by ``Configuration/cache``, except those whose
/// response says `no-store`. Decoding and processing happen on threads for that, most urgent first.
public final class ImageLoader: Sendable {
  /// A loader over `HTTPSession.shared` and ``ImageCache/shared``, for whoever needs no settings.
  public static let shared = ImageLoader(
    session: .shared,
    configuration: {
      var configuration = Configuration()
      configuration.cache = .shared
      return configuration
    }())

  /// Where files come from.
  public let session: HTTPSession
  /// What the loader was made of.
  public let configuration: Configuration
  let turns: TurnQueue
  let threads: WorkThreads
  let state: Mutex<State>

  struct State: Sendable {
    var loads = LoadTable()
    var failures: FailureMemory
    var statistics = ImageStatistics()
    var lastInstance: UInt64 = 0
  }

  /// Makes a loader.
  public init(session: HTTPSession, configuration: Configuration = .init()) {
    self.session = session
    self.configuration = configuration
    turns = TurnQueue(limit: configuration.concurrentLoads)
    threads = WorkThreads(limit: configuration.concurrentDecodes)
    state = Mutex(State(failures: FailureMemory(age: configuration.failureAge, clock: configuration.clock)))
  }

  /// The picture of a URL, in full size.
  public func image(for url: URL) async throws(ImageLoadError) -> LoadedImage {
    try await image(for: ImageRequest(url))
  }

  /// The picture that a request is answered with, in full size.
  public func image(for request: HTTPRequest) async throws(ImageLoadError) -> LoadedImage {
    try await image(for: ImageRequest(request))
  }

  /// The picture, from memory or loaded.
  public func image(for request: ImageRequest) async throws(ImageLoadError) -> LoadedImage {
    try await image(for: request, observe: nil)
  }

  /// The picture, if it is in memory and may come from there.
  public func cachedImage(for request: ImageRequest) -> LoadedImage? { inMemory(Plan(request, in: self)) }

  /// What a picture is kept by.
  public func key(for request: ImageRequest) -> ImageKey { Plan(request, in: self).key }

  /// How many pictures came from where so far.
  public var statistics: ImageStatistics { state.withLock { $0.statistics } }

  /// Makes a load that is under way more urgent, whoever waits for it.
  public func raise(_ request: ImageRequest, to priority: ImagePriority) {
    let plan = Plan(request, in: self)
    state.withLock { $0.loads.raise(plan.identity, to: priority) }
  }

  /// Forgets that a picture failed, or that any did, so that it is tried again at once.
  public func forgetFailure(of request: ImageRequest) {
    let plan = Plan(request, in: self)
    state.withLock { $0.failures.forget(plan.key) }
  }

  /// Forgets all failures, so that what failed is tried again at once: when the network is back, or the user asks.
  public func forgetFailures() { state.withLock { $0.failures.forgetAll() } }

  /// How many callers wait for the load that a request would join.
  package func waiting(for request: ImageRequest) -> Int {
    let plan = Plan(request, in: self)
    return state.withLock { $0.loads.waiting(for: plan.identity) }
  }

  /// How many loads, and how many decodings, wait for their turn.
  package var queued: (loads: Int, decodes: Int) { (turns.waiting, threads.waiting) }
}

extension ImageLoader {
  /// Removes what belongs to a partition, when its user signs out: pictures in memory, what the session's cache has stored,
  /// what is known of failures. Loads of it that are under way fail as cancelled. Throws what the store of the cache throws.
  public func removePartition(_ partition: String) async throws {
    end { $0.route.key.partition == partition }
    configuration.cache?.removePartition(partition)
    try await session.cache?.removePartition(partition)
  }

  /// Removes everything: pictures in memory, what the session's cache has stored, what is known of failures. Loads that are
  /// under way fail as cancelled. Throws what the store of the cache throws.
  public func removeAll() async throws {
    end { _ in true }
    configuration.cache?.removeAll()
    try await session.cache?.removeAll()
  }

  private func end(_ isMeant: (LoadTable.Identity) -> Bool) {
    let (gates, tasks) = state.withLock { state in
      state.failures.forgetAll()
      return state.loads.close(where: isMeant)
    }
    for task in tasks { task.cancel() }
    for gate in gates { gate.answer(.failure(CancellationError())) }
  }
}
