@_spi(Stores) @_spi(Toolkit) public import MartletEngine
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
/// is only logged, not an error. All sessions with the same cache or the same directory share it, even in other
/// processes. Sessions of the default configuration share one in the program's cache folder. Each session of the
/// ephemeral configuration stores its responses in memory.
///
/// Removing takes effect at once, in this run and the next, even for responses that are being received. Single
/// responses are not returned, because a response's fields decide which request may use it.
///
/// SAFETY: its properties are constants, and safe to use from any thread.
public final class SAPURLCache: URLCache, @unchecked Sendable {
  /// The engine's cache.
  public let cache: HTTPCache
  /// Removes responses from stores that cannot do so at once.
  let removal = CacheRemoval()
  /// The shared cache of Foundation or of the app in whose place this one is; usually nil.
  private let replaced: URLCache?

  /// Makes a `URLCache` from a cache of the engine.
  public convenience init(_ cache: HTTPCache) { self.init(cache, inPlaceOf: nil) }

  init(_ cache: HTTPCache, inPlaceOf replaced: URLCache?) {
    (self.cache, self.replaced) = (cache, replaced)
    super.init(
      memoryCapacity: replaced?.memoryCapacity ?? 0, diskCapacity: replaced?.diskCapacity ?? 0, diskPath: nil)
  }

  /// The capacity on disk that no app has chosen, in bytes.
  static let standardCapacity = 256 << 20

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
    replaced = nil
    super.init(memoryCapacity: 0, diskCapacity: diskCapacity, diskPath: directory.path)
  }

  /// Removes all responses.
  public override func removeAllCachedResponses() {
    removal.remove(.all, from: cache)
    replaced?.removeAllCachedResponses()
    replaced?.setMark()
    SessionLog.writeKept()
  }

  /// Removes all responses: the date at which a response was first stored is not known.
  public override func removeCachedResponses(since date: Date) { removeAllCachedResponses() }

  /// Removes the responses of the request's URL.
  public override func removeCachedResponse(for request: URLRequest) {
    replaced?.removeCachedResponse(for: request)
    guard let url = request.url else { return }
    removal.remove(.url(CacheKey(url).url), from: cache)
    SessionLog.writeKept()
  }

  // MARK: - What Foundation's sessions and the app store

  /// Returns nil: a response's fields decide which request may use it. The shared cache returns what
  /// ``storeCachedResponse(_:for:)`` has stored.
  public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    replaced?.cachedResponse(for: request)
  }

  /// Does nothing: only responses of servers are stored. The shared cache stores the response for Foundation's sessions
  /// and the app, not for the sessions of this module.
  public override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
    replaced?.storeCachedResponse(cachedResponse, for: request)
  }
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

  /// The removals that are running: the last one waits for those before it.
  private let running = Locked<(line: WorkLine, count: Int)>((WorkLine(), 0))
  /// The removals that failed. While there are any, no request is answered from the cache.
  private let failed = Locked<[Removal]>([])

  func remove(_ selection: CacheSelection, from cache: HTTPCache) {
    let removal = Removal(id: UUID(), selection: selection, cache: cache)
    do { if try cache.blockingRemove(selection) { return } } catch { return fail(removal, error) }
    let turn = running.withLock { running in
      running.count += 1
      return running.line.takeTurn()
    }
    Task {
      await turn.run {
        do { try await cache.remove(selection) } catch {
          fail(removal, error)
          SessionLog.writeKept()
        }
        running.withLock { $0.count -= 1 }
      }
    }
  }

  func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>? {
    if running.withLock({ $0.count == 0 }), failed.withLock({ $0.isEmpty }) { return nil }
    return { [request] in await self.preparation(of: request, in: call) }
  }

  /// Waits for removals, and repeats the removals that failed.
  private func preparation(of request: HTTPRequest, in call: Call) async -> Preparation {
    await running.withLock { $0.line.last }?.wait()
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

  /// The log keeps a line, because the caller of `remove` may hold a lock.
  private func fail(_ removal: Removal, _ error: any Error) {
    failed.withLock { $0.append(removal) }
    SessionLog.keep(.error, "URLCache", "the cache could not be emptied, and is not used until it is: \(error)")
  }
}
