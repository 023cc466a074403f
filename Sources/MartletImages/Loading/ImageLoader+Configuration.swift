public import MartletSemantics

extension ImageLoader {
  /// What a loader is made of, besides its session.
  public struct Configuration: Sendable {
    /// Where decoded pictures are kept; nil for nowhere. By default a cache of this configuration's own.
    ///
    /// Loaders may share one, such as ``ImageCache/shared``, if their sessions speak for the same user, or name partitions:
    /// what a session's interceptors add to requests is no part of a picture's key.
    public var cache: ImageCache? = ImageCache()
    /// How many files are loaded at a time, from the request to the decoded picture; 6 by default. So many files are in memory
    /// at most, each of ``maximumEncodedBytes`` at most.
    public var concurrentLoads = 6
    /// How many pictures are decoded and processed at a time, each on a thread of its own; one a processor by default.
    public var concurrentDecodes = ProcessInfo.processInfo.activeProcessorCount
    /// The most bytes of a file, 32 MiB by default; more is not taken into memory.
    public var maximumEncodedBytes = 32 << 20
    /// How pictures are decoded: the limits of pixels and bytes, and formats of your own. The size is each request's.
    public var decoding = ImageDecoder.Options()
    /// The most previews of one picture, which are made where somebody watches its phases and the file is a progressive JPEG;
    /// 5 by default, 0 for none.
    public var previewLimit = 5
    /// How long a load that failed is not tried again, 10 seconds by default. Zero tries each time.
    public var failureAge: Duration = .seconds(10)
    /// What the session's cache may do where neither request nor session set a policy. By default what is stored is shown,
    /// however old, when the network cannot be reached.
    public var cachePolicy: CachePolicy = .returnCacheDataIfOffline
    /// Measures the age of failures and the time of loads; a test may set one that it moves itself.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// Makes the default configuration.
    public init() {}
  }
}
