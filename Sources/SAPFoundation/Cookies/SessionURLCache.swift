import Foundation
import MartletEngine

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The engine's cache under Foundation's name: what a session's `configuration.urlCache` is. It can be emptied; what is in it
/// is the engine's affair, so that it shows nothing.
///
/// SAFETY: its properties are constants, and safe to use from any thread.
final class SessionURLCache: URLCache, @unchecked Sendable {
  let cache: HTTPCache
  /// Where what is removed at once is taken away afterwards.
  let removal: CacheRemoval

  init(_ cache: HTTPCache, _ removal: CacheRemoval) {
    self.cache = cache
    self.removal = removal
    super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
  }

  override func removeAllCachedResponses() { removal.begin { [cache] in try await cache.removeAll() } }

  /// Removes everything: the engine does not tell when something was stored first.
  override func removeCachedResponses(since date: Date) { removeAllCachedResponses() }

  override func removeCachedResponse(for request: URLRequest) {
    guard let url = request.url else { return }
    removal.begin { [cache] in try await cache.remove(url) }
  }

  override func cachedResponse(for request: URLRequest) -> CachedURLResponse? { nil }

  override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {}
}

/// Makes a removal hold from the moment when it was asked for, without waiting for the store: requests wait for it.
final class CacheRemoval: Interceptor {
  private let last = Locked<Task<Void, Never>?>(nil)

  func begin(_ work: @escaping @Sendable () async throws -> Void) {
    last.withLock { last in
      last = Task { [before = last] in
        await before?.value
        do { try await work() } catch { SAPURLSession.log("URLCache", "it could not be emptied: \(error)") }
      }
    }
  }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    await last.withLock { $0 }?.value
    return request
  }
}
