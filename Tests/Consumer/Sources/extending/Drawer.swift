import Martlet
@_spi(Stores) import MartletEngine
import Synchronization

/// A stranger's store of cookies in memory: requests read it without a task.
final class Drawer: CookieStore {
  private let kept = Mutex(CookieSnapshot())

  func cookies(in site: String) -> [Cookie] { immediateCookies(in: site) }

  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) -> Result { kept.withLock { $0.update(site, change) } }

  func count() -> Int { kept.withLock { $0.count } }

  func allCookies() -> [String: [Cookie]] { kept.withLock { $0.sites } }

  func removeAll() { kept.withLock { $0.replace(by: [:]) } }
}

extension Drawer: ImmediateCookieStore {
  var revision: CookieRevision { kept.withLock { $0.revision } }

  func immediateCookies(in site: String) -> [Cookie] { kept.withLock { $0[site] } }

  func immediateCookies(in site: String, for host: String) -> [Cookie] { kept.withLock { $0[site, for: host] } }
}
