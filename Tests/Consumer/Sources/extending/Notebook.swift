import Martlet

/// A stranger's store of cookies.
actor Notebook: CookieStore {
  private var pages: [String: [Cookie]] = [:]

  func cookies(in site: String) -> [Cookie] { pages[site] ?? [] }

  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) -> Result {
    var cookies = pages[site] ?? []
    defer { pages[site] = cookies.isEmpty ? nil : cookies }
    return change(&cookies)
  }

  func count() -> Int { pages.values.reduce(0) { $0 + $1.count } }

  func allCookies() -> [String: [Cookie]] { pages }

  func removeAll() { pages = [:] }
}
