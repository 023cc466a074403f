public import MartletEngine
import MartletSemantics
import MartletSQLite
import Synchronization

/// A cache of the engine as a `URLCache`. `session.configuration.urlCache` has this type. Assign one to a configuration
/// to make its sessions store responses on disk.
///
/// ```swift
/// let configuration = URLSessionConfiguration.default
/// configuration.urlCache = try SAPURLCache(directory: folder)
/// let session = SAPURLSession(configuration: configuration)
/// ```
///
/// On Linux a `URLCache` with a directory and a `diskCapacity` has the same effect, except that an unusable directory
/// is only logged, not an error. All sessions with the same cache or the same directory share it, also in other
/// processes. By default a session stores responses in memory, and does not share them.
///
/// Removing takes effect at once, in this run and the next, and also for responses that are being received. Single
/// responses are not returned, because a response's fields decide which request may use it.
///
/// SAFETY: its properties are constants, and safe to use from any thread.
public final class SAPURLCache: URLCache, @unchecked Sendable {
  /// The engine's cache.
  public let cache: HTTPCache
  /// Removes responses from stores that cannot do so at once.
  let removal = CacheRemoval()

  /// Makes a `URLCache` from a cache of the engine.
  public init(_ cache: HTTPCache) {
    self.cache = cache
    super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
  }

  /// Makes a cache that stores responses in a SQLite file, `responses.sqlite`, for any number of sessions and
  /// processes.
  ///
  /// - Parameters:
  ///   - directory: the file's directory; it is made if it does not exist. Only the file's owner may read the file. It
  ///     is not encrypted.
  ///   - diskCapacity: the maximum size of all responses in bytes, 256 MiB by default; one response may have a quarter
  ///     of that. Within a process, the first capacity for a directory is used.
  /// - Throws: `HTTPError` of kind `.file`, which names the file and the remedy.
  public init(directory: URL, diskCapacity: Int = 256 << 20) throws(HTTPError) {
    cache = try DiskCaches.cache(in: directory, capacity: diskCapacity)
    super.init(memoryCapacity: 0, diskCapacity: diskCapacity, diskPath: directory.path)
  }

  /// Removes all responses.
  public override func removeAllCachedResponses() { removal.remove(.all, from: cache) }

  /// Removes all responses: the date at which a response was first stored is not known.
  public override func removeCachedResponses(since date: Date) { removeAllCachedResponses() }

  /// Removes the responses of the request's URL.
  public override func removeCachedResponse(for request: URLRequest) {
    guard let url = request.url else { return }
    removal.remove(.url(CacheKey(url).url), from: cache)
  }

  /// Returns nil: a response's fields decide which request may use it.
  public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? { nil }

  /// Does nothing: only responses of servers are stored.
  public override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {}
}

/// The caches on disk that are in use. There is one for each directory, so that no session stores a response again that
/// another has removed.
private enum DiskCaches {
  private struct Known {
    weak var cache: HTTPCache?
  }

  private static let known = Mutex<[String: Known]>([:])

  static func cache(in directory: URL, capacity: Int) throws(HTTPError) -> HTTPCache {
    let file = directory.absoluteURL.appending(path: "responses.sqlite").standardizedFileURL
    return try known.withLock { known throws(HTTPError) in
      if let cache = known[file.path]?.cache { return cache }
      known = known.filter { $0.value.cache != nil }
      let cache = HTTPCache(store: try SQLiteCacheStore(at: file, capacity: Int64(capacity)))
      known[file.path] = Known(cache: cache)
      return cache
    }
  }
}

/// Removes responses, at once if the store can; otherwise later requests wait until they are removed.
final class CacheRemoval: ImmediateInterceptor {
  let stages = InterceptorStages.prepare
  private struct Removal: Sendable {
    let id: UUID
    let selection: CacheSelection
    let cache: HTTPCache
  }

  private let last = Locked<Task<Void, Never>?>(nil)
  /// The removals that failed. While there are any, no request is answered from the cache.
  private let failed = Locked<[Removal]>([])

  func remove(_ selection: CacheSelection, from cache: HTTPCache) {
    let removal = Removal(id: UUID(), selection: selection, cache: cache)
    do { if try cache.blockingRemove(selection) { return } } catch { return fail(removal, error) }
    last.withLock { last in
      last = Task { [before = last] in
        await before?.value
        do { try await cache.remove(selection) } catch { fail(removal, error) }
      }
    }
  }

  func begin(_ request: inout HTTPRequest, in call: Call) -> Later<Preparation>? {
    if last.withLock({ $0 == nil }), failed.withLock({ $0.isEmpty }) { return nil }
    return { [request] in await self.preparation(of: request, in: call) }
  }

  /// Waits for removals, and repeats those that failed.
  private func preparation(of request: HTTPRequest, in call: Call) async -> Preparation {
    await last.withLock { $0 }?.value
    for removal in failed.withLock({ $0 }) {
      do {
        try await removal.cache.remove(removal.selection)
        failed.withLock { $0.removeAll { $0.id == removal.id } }
      } catch { call.emit(.note("the cache is not used, because it could not be emptied: \(error)")) }
    }
    var request = request
    if failed.withLock({ !$0.isEmpty }) { request.options.cachePolicy = .reloadIgnoringCacheData }
    return .send(request)
  }

  private func fail(_ removal: Removal, _ error: any Error) {
    failed.withLock { $0.append(removal) }
    SessionLog.write(.error, "URLCache", "the cache could not be emptied, and is not used until it is: \(error)")
  }
}

extension URLSessionConfiguration {
  /// The cache of a session with this configuration; nil if caching is disabled. It is the `SAPURLCache` that was
  /// assigned. If the assigned `URLCache` has a directory, the cache is on disk. Otherwise it is a new one in memory
  /// with the capacity of the `URLCache`.
  var sessionCache: SAPURLCache? {
    guard let urlCache else { return nil }
    if let shared = urlCache as? SAPURLCache { return shared }
    if urlCache.diskCapacity > 0, let directory = urlCache.namedDirectory {
      do { return try SAPURLCache(directory: directory, diskCapacity: urlCache.diskCapacity) } catch {
        SessionLog.write(.error, "URLCache", "responses are stored in memory: \(error)")
      }
    }
    let isDefault = urlCache === URLCache.shared
    return SAPURLCache(
      HTTPCache(store: isDefault ? MemoryCacheStore() : MemoryCacheStore(capacity: Int64(urlCache.memoryCapacity))))
  }
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
