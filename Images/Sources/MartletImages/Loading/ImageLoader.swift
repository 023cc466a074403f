public import MartletCombine
@_spi(Toolkit) public import MartletEngine
public import MartletSemantics
import Martlet
import Synchronization

/// Loads images from a session in the needed size, shares loads between callers, and caches images in memory.
///
/// ```swift
/// let loader = ImageLoader(session: session)
/// let image = try await loader.image(for: url)
/// let small = try await loader.image(for: ImageRequest(url, targetSize: PixelSize(width: 96, height: 96)))
/// for await phase in loader.phases(for: ImageRequest(url)) { print(phase) }   // placeholder, progress, image or error
/// ```
///
/// Images in `data:` and `file:` URLs need no request, and so neither the session nor its interceptors. A file must be
/// a regular one. If URLs come from others, decide which of them may name your files.
///
/// Concurrent callers for the same image share one load; callers for other sizes of it share one download. If one of
/// them is cancelled, the others are not affected; if all are, the load is cancelled. Files are loaded with the session
/// and stored only in its HTTP cache, for as long as the server allows. Decoded images are stored in
/// ``Configuration/cache``, except those whose response has `no-store`. Images are decoded and processed on separate
/// threads, those with the highest priority first.
public final class ImageLoader: Sendable {
  /// A loader with `HTTPSession.shared`, ``ImageCache/shared`` and the default configuration.
  public static let shared = ImageLoader(
    session: .shared,
    configuration: {
      var configuration = Configuration()
      configuration.cache = .shared
      return configuration
    }())

  /// The session that files are loaded with.
  public let session: HTTPSession
  /// The configuration that the loader was made with.
  public let configuration: Configuration
  let places: LoadPlaces
  let executor: DecodingExecutor
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
    places = LoadPlaces(limit: configuration.concurrentLoads, perOrigin: configuration.concurrentLoadsPerOrigin ?? .max)
    executor = DecodingExecutor(configuration)
    state = Mutex(State(failures: FailureMemory(age: configuration.failureAge, clock: configuration.clock)))
  }

  /// Loads the image of a URL, in full size. Runs off the caller's actor.
  @concurrent public func image(for url: URL) async throws(ImageLoadError) -> LoadedImage {
    try await image(for: ImageRequest(url))
  }

  /// Loads the image in the response to an HTTP request, in full size. Runs off the caller's actor.
  @concurrent public func image(for request: HTTPRequest) async throws(ImageLoadError) -> LoadedImage {
    try await image(for: ImageRequest(request))
  }

  /// Returns the image from memory, or loads it. Runs off the caller's actor.
  @concurrent public func image(for request: ImageRequest) async throws(ImageLoadError) -> LoadedImage {
    try await image(for: request, observer: nil)
  }

  /// Returns the image from memory; nil if it is not there, or the request's cache policy does not allow it.
  public func cachedImage(for request: ImageRequest) -> LoadedImage? { inMemory(Plan(request, in: self)) }

  /// Returns the key of an image in the cache.
  public func key(for request: ImageRequest) -> ImageKey { Plan(request, in: self).key }

  /// The number of images so far, by source.
  public var statistics: ImageStatistics { state.withLock { $0.statistics } }

  /// Sets a minimum priority for the load that a request would join. Callers with a higher priority still raise it.
  /// Does nothing if no such load is running.
  public func setPriority(_ priority: ImagePriority, for request: ImageRequest) {
    let plan = Plan(request, in: self)
    state.withLock { $0.loads.setMinimumPriority(priority, of: plan.identity) }
    places.admitWaiting()
  }

  /// Forgets that an image failed, so that its request is sent again at once.
  public func forgetFailure(of request: ImageRequest) {
    let plan = Plan(request, in: self)
    state.withLock { $0.failures.forget(plan.key) }
  }

  /// Forgets all failures, so that their requests are sent again at once: for example when the network is back, or the
  /// user reloads.
  public func forgetFailures() { state.withLock { $0.failures.forgetAll() } }

  /// Returns the number of callers that wait for the load that a request would join.
  func waiterCount(for request: ImageRequest) -> Int {
    let plan = Plan(request, in: self)
    return state.withLock { $0.loads.waiterCount(for: plan.identity) }
  }

  /// The numbers of loads and of images to decode that the limits keep waiting.
  var queueLengths: (loads: Int, decodes: Int) { (places.waiting, executor.waiting) }
}

// MARK: - Configuration

extension ImageLoader {
  /// The settings of a loader.
  public struct Configuration: Sendable {
    /// The cache for decoded images; nil for none. By default, a new cache that only loaders with this configuration
    /// use.
    ///
    /// Loaders may share a cache, such as ``ImageCache/shared``, if their sessions are for the same user or use
    /// partitions: an image's key does not include the fields that a session's interceptors add.
    public var cache: ImageCache? = ImageCache()
    /// The maximum number of files that are received and decoded at a time; 6 by default.
    ///
    /// A load that waits for its server for more than 25 ms gives its place to another load, and takes one again when
    /// bytes arrive: a server that is silent does not delay the images of others. With two places or more, loads of the
    /// priority ``ImagePriority/low`` leave one of them to others.
    public var concurrentLoads = 6
    /// The maximum number of loads of one origin, each from its request to its decoded image, silent or not. nil, the
    /// default, means as many as ``concurrentLoads``; more are not allowed. With two or more, loads of the priority
    /// ``ImagePriority/low`` leave one to others.
    ///
    /// It also limits the files in memory, each of at most ``encodedBytesLimit``: for each origin, as many as this.
    public var concurrentLoadsPerOrigin: Int?
    /// The maximum number of images that are decoded and processed at a time, each on a separate thread; by default the
    /// number of processors. When a load was cancelled or has timed out, the built-in decoders end soon. Decoders of
    /// additional formats, and processors, cannot be stopped: another thread takes their place, and there are at most
    /// twice as many in all.
    public var concurrentDecodes = ProcessInfo.processInfo.activeProcessorCount
    /// The maximum time for decoding and processing an image, including the wait for a thread; then the load fails with
    /// ``ImageLoadError/Kind/timedOut``. The limits of ``decoding`` allow much less. 60 seconds by default.
    public var decodeTimeout: Duration = .seconds(60)
    /// The maximum number of bytes of a file; a longer one is not read into memory. 32 MiB by default.
    public var encodedBytesLimit = 32 << 20
    /// How images are decoded: the limits of pixels and bytes, and additional formats. The requests set the sizes.
    public var decoding = ImageDecoder.Options()
    /// The maximum number of previews of one image, which are made from a progressive JPEG if a caller observes its
    /// phases; 0 for none. 5 by default.
    public var previewLimit = 5
    /// How long an image in ``cache`` is used at least. After that time it is used only while its response is fresh: as
    /// long as an HTTP cache would answer without asking the server (RFC 9111 §4.2). 5 minutes by default. With zero,
    /// images with `no-cache`, or without a freshness lifetime, are requested each time.
    public var memoryAge: Duration = .seconds(300)
    /// How long the error of a failed load is returned without a new request; zero sends a request each time. 10
    /// seconds by default.
    public var failureAge: Duration = .seconds(10)
    /// The cache policy of requests for which neither the request nor the session sets one. By default, if the network
    /// cannot be reached, a stored response is used even if it is stale.
    public var cachePolicy: CachePolicy = .returnCacheDataIfOffline
    /// The clock for the age of failures and the duration of loads; tests may set their own.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// Makes the default configuration.
    public init() {}
  }
}

// MARK: - Phases

extension ImageLoader {
  /// Loads an image and returns its phases, from the placeholder to the image or the error.
  ///
  /// Loading begins at once, and is cancelled when the stream is released. A slow reader gets only the latest phase,
  /// but always the last one. For a view that shows one image after another, use ``ImageSlot``.
  public func phases(for request: ImageRequest) -> AsyncStream<ImagePhase> {
    let (stream, continuation) = AsyncStream.makeStream(of: ImagePhase.self, bufferingPolicy: .bufferingNewest(1))
    if let image = cachedImage(for: request) {
      continuation.yield(.success(image))
      continuation.finish()
      return stream
    }
    continuation.yield(.loading(nil))
    let task = Task {
      do throws(ImageLoadError) {
        continuation.yield(.success(try await image(for: request) { continuation.yield($0) }))
      } catch {
        continuation.yield(.failure(error))
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Loads the full-size image of a URL, and returns its phases.
  public func phases(for url: URL) -> AsyncStream<ImagePhase> { phases(for: ImageRequest(url)) }

  /// Returns a publisher of the phases, which never fails. Each subscriber begins a load, or joins a running one, when
  /// it first requests a value, and leaves the load when it cancels.
  ///
  /// ```swift
  /// loader.phasePublisher(for: request).receive(on: DispatchQueue.main).sink { show($0) }
  /// ```
  public func phasePublisher(for request: ImageRequest) -> LatestPublisher<ImagePhase> {
    LatestPublisher { self.phases(for: request) }
  }

  /// Returns a publisher of the image. Loading begins when a subscriber first requests a value.
  public func imagePublisher(for request: ImageRequest) -> TaskPublisher<LoadedImage, ImageLoadError> {
    TaskPublisher { () async throws(ImageLoadError) in try await self.image(for: request) }
  }

  /// Returns a publisher of a URL's full-size image.
  public func imagePublisher(for url: URL) -> TaskPublisher<LoadedImage, ImageLoadError> {
    imagePublisher(for: ImageRequest(url))
  }
}

// MARK: - Removal

extension ImageLoader {
  /// Removes all data of a partition when its user signs out: images in memory, responses in the session's cache. Its
  /// running loads fail as cancelled. Remembered failures are forgotten for all partitions.
  ///
  /// - Throws: errors of the store of the session's cache.
  public func removePartition(_ partition: String) async throws {
    endLoads { $0.request.key.partition == partition }
    configuration.cache?.removePartition(partition)
    try await session.configuration.cache?.removePartition(partition)
  }

  /// Removes everything: images in memory, responses in the session's cache, remembered failures. Running loads fail as
  /// cancelled.
  ///
  /// - Throws: errors of the store of the session's cache.
  public func removeAll() async throws {
    endLoads { _ in true }
    configuration.cache?.removeAll()
    try await session.configuration.cache?.removeAll()
  }

  private func endLoads(where matches: (LoadTable.Identity) -> Bool) {
    let (results, tasks) = state.withLock { state in
      state.failures.forgetAll()
      return state.loads.end(where: matches)
    }
    for task in tasks { task.cancel() }
    for result in results { result.answer(.failure(CancellationError())) }
  }
}
