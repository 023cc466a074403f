import MartletEngine
import Synchronization

extension URLSessionConfiguration {
  /// The cache of a session with this configuration; nil if caching is disabled.
  ///
  /// It is the `SAPURLCache` that was assigned. For `URLCache.shared`, which the default configuration has, it is one
  /// for all sessions. If another `URLCache` has a directory, the cache is on disk; otherwise it is a new one in memory
  /// with the capacity of the `URLCache`.
  var sessionCache: SAPURLCache? {
    guard let urlCache else { return nil }
    defer { SessionLog.writeKept() }
    return urlCache as? SAPURLCache ?? SharedURLCaches.cache(for: urlCache) ?? SAPURLCache(urlCache.engineCache())
  }
}

/// The caches of the sessions that have `URLCache.shared`.
///
/// The first such session replaces `URLCache.shared` by a ``SAPURLCache``. So
/// `URLCache.shared.removeAllCachedResponses()` empties the cache of the sessions at once, and requests pay nothing for
/// it. The replaced cache stays in use for Foundation's own sessions: everything that is stored in the shared cache is
/// stored there.
///
/// A mark in the replaced cache, which is on disk, shows at the next start whether it was emptied before the first
/// session was made. An app that keeps the replaced instance and calls its methods does not reach the sessions.
private enum SharedURLCaches {
  private struct Known {
    private var caches: [(replaced: URLCache, cache: SAPURLCache)] = []

    func cache(for urlCache: URLCache) -> SAPURLCache? { caches.first { $0.replaced === urlCache }?.cache }

    mutating func append(_ cache: (replaced: URLCache, cache: SAPURLCache)) { caches.append(cache) }
  }

  private static let known = Mutex(Known())

  /// Returns the cache for `URLCache.shared`, now or when a configuration was made; nil for another `URLCache`.
  ///
  /// The app's cache may be of a class of its own, so its methods are called while the lock is free. If several
  /// sessions come first at once, each prepares a cache, and all use the one that is known first.
  static func cache(for urlCache: URLCache) -> SAPURLCache? {
    // In this order: the shared cache is known before it is replaced.
    let isShared = urlCache === URLCache.shared
    if let cache = known.withLock({ $0.cache(for: urlCache) }) { return cache }
    guard isShared else { return nil }
    let cache = SAPURLCache(urlCache.engineCache(isShared: true), inPlaceOf: urlCache)
    if !urlCache.hasMark {
      if ProgramMark.cache.isSet { cache.removal.remove(.all, from: cache.cache) }
      urlCache.setMark()
      if urlCache.hasMark { ProgramMark.cache.set() }
    }
    return known.withLock { known in
      if let earlier = known.cache(for: urlCache) { return earlier }
      known.append((urlCache, cache))
      URLCache.shared = cache
      return cache
    }
  }
}

extension URLCache {
  /// A URL that cannot exist (RFC 6761 §6.4).
  private static let markURL = URL(string: "https://sap-foundation.invalid/")

  /// Whether the cache was not emptied since it was marked.
  fileprivate var hasMark: Bool {
    Self.markURL.map { cachedResponse(for: URLRequest(url: $0)) != nil } ?? false
  }

  /// Stores a response that is removed together with all others.
  func setMark() {
    guard let url = Self.markURL else { return }
    let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 1, textEncodingName: nil)
    storeCachedResponse(CachedURLResponse(response: response, data: Data([1])), for: URLRequest(url: url))
  }

  /// Makes a cache of the engine like this one: on disk if this one has a directory, otherwise in memory. If the
  /// directory cannot be used, the log keeps a line.
  ///
  /// - Parameter isShared: whether to use the program's folder if no directory was named.
  fileprivate func engineCache(isShared: Bool = false) -> HTTPCache {
    if diskCapacity > 0, isShared || namedDirectory != nil {
      let capacity = isShared && diskCapacity == Self.standardDiskCapacity ? nil : diskCapacity
      do {
        let directory = try namedDirectory ?? ProgramFolder.cache.file("")
        return try SAPURLCache(directory: directory, diskCapacity: capacity ?? SAPURLCache.standardCapacity).cache
      } catch { SessionLog.keep(.error, "URLCache", "responses are stored in memory: \(error)") }
    }
    let isStandard = isShared && memoryCapacity == Self.standardMemoryCapacity
    return HTTPCache(store: isStandard ? MemoryCacheStore() : MemoryCacheStore(capacity: Int64(memoryCapacity)))
  }

  /// The capacities of Foundation's shared cache, which an app has not chosen.
  private static var standardMemoryCapacity: Int { 4 << 20 }
  private static var standardDiskCapacity: Int { 20 << 20 }
}

#if os(Linux)
extension URLCache {
  /// Makes a cache with a directory, like Foundation's initializer on Apple's platforms.
  ///
  /// - Parameters:
  ///   - memoryCapacity: the maximum number of bytes in memory.
  ///   - diskCapacity: the maximum number of bytes in the directory.
  ///   - directory: the directory of responses on disk. Without one, a ``SAPURLSession`` stores them in memory.
  public convenience init(memoryCapacity: Int, diskCapacity: Int, directory: URL? = nil) {
    self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, diskPath: directory?.path)
  }

  /// The directory that was passed when the cache was made. With nil, Foundation uses a default directory.
  ///
  /// Foundation has no property for it, so it is read by reflection. The default directory is one with the program's
  /// name in `org.swift.foundation.URLCache`.
  fileprivate var namedDirectory: URL? {
    var mirror: Mirror? = Mirror(reflecting: self)
    while let current = mirror {
      if let found = current.children.first(where: { $0.label == "cacheDirectory" })?.value as? URL {
        let isDefault =
          found.absoluteURL.deletingLastPathComponent().lastPathComponent == "org.swift.foundation.URLCache"
        return isDefault ? nil : found
      }
      mirror = current.superclassMirror
    }
    return nil
  }
}
#else
extension URLCache {
  /// nil: Foundation has no property for it. Assign a ``SAPURLCache`` instead.
  fileprivate var namedDirectory: URL? { nil }
}
#endif
