@_spi(Toolkit) import MartletSemantics

/// A client that sends requests to the hosts of one site, and stores its cookies.
struct CookieClient {
  var list = CookieList()
  var now = Date(timeIntervalSince1970: 1_800_000_000)
  var refusals: [Cookie.Refusal.Reason] = []
  static let suffixes = PublicSuffixes {
    ["org", "com", "test", "co.uk", "github.io", "xn--55qx5d.cn", "cn"].contains($0)
  }
  static let home = "http://www.example.org/dir/page"

  /// Receives `Set-Cookie` lines in response to a request.
  mutating func receive(_ lines: String..., at url: String = home, in context: Cookie.Context = .init()) {
    for line in lines { receive(line, at: url, context) }
  }

  private mutating func receive(_ line: String, at url: String, _ context: Cookie.Context) {
    do throws(Cookie.Refusal) {
      guard let request = Self.request(url) else { throw Cookie.Refusal(.noHost) }
      let cookie = try SetCookie(line, now: now)
        .cookie(for: request, in: context, publicSuffixes: Self.suffixes, now: now)
      let outcomes = list.receive([.success(cookie)], isSecure: request.isSecure, in: context, limit: 180, now: now)
      if let refusal = outcomes[0].refusal { throw refusal }
    } catch { refusals.append(error.reason) }
  }

  /// The `Cookie` line of a request; empty if there is none.
  func sends(to url: String = home, in context: Cookie.Context = .init()) -> String {
    guard let request = Self.request(url) else { return "" }
    return CookieList.header(list.cookies(for: request, in: context, now: now)) ?? ""
  }

  static func request(_ url: String) -> CookieRequest? { URL(string: url).flatMap(CookieRequest.init) }

  /// Returns the cookies that are sent after the lines were received.
  static func echo(_ lines: [String], at url: String = home, to target: String? = nil) -> String {
    var client = CookieClient()
    for line in lines { client.receive(line, at: url) }
    return client.sends(to: target ?? url)
  }
}
