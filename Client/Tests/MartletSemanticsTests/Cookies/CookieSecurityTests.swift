import MartletSemantics
import Testing

/// RFC 6265bis §5.7 and §5.8.3: Secure, HttpOnly, SameSite and the prefixes.
@Suite
struct CookieSecurityTests {
  private static let http = "http://www.example.org/dir/page"
  private static let https = "https://www.example.org/dir/page"

  // MARK: - Secure

  @Test
  func secureCookiesNeedHTTPS() {
    var client = CookieClient()
    client.receive("a=1; Secure", at: Self.http)
    #expect(client.refusals == [.insecureConnection])
    client.receive("a=1; Secure", at: Self.https)
    #expect(client.sends(to: Self.https) == "a=1")
    #expect(client.sends(to: Self.http) == "")
    #expect(client.sends(to: "wss://www.example.org/dir/page") == "a=1")
  }

  @Test(arguments: [
    // over https, then over http: the cookies that are sent over https
    ("a=1; Secure; Path=/dir", "a=2; Path=/dir", "a=1"),
    ("a=1; Secure; Path=/dir", "a=2; Path=/dir/page", "a=1"),
    ("a=1; Secure; Path=/dir", "a=2; Path=/", "a=1; a=2"),
    ("a=1; Secure; Path=/", "a=2; Path=/dir", "a=1"),
    ("a=1; Secure; Path=/dir", "b=2; Path=/dir", "a=1; b=2"),
    ("a=1; Secure; Path=/dir; Domain=example.org", "a=2; Path=/dir", "a=1"),
    ("a=1; Secure; Path=/dir", "a=2; Path=/dir; Domain=example.org", "a=1"),
    ("a=1; Path=/dir", "a=2; Path=/dir", "a=2"),
    ("a=1; Secure; Path=/dir", "a=; Path=/dir; Max-Age=0", "a=1"),
    ("a=1; Secure; Path=/dir; Max-Age=0", "a=2; Path=/dir", "a=2"),
  ])
  func insecureConnectionsCannotChangeSecureCookies(_ first: String, _ second: String, sent: String) {
    var client = CookieClient()
    client.receive(first, at: Self.https)
    client.receive(second, at: Self.http)
    #expect(client.sends(to: Self.https) == sent)
  }

  @Test
  func secureConnectionReplacesAnyCookie() {
    var client = CookieClient()
    client.receive("a=1; Secure", "a=2", at: Self.https)
    #expect(client.sends(to: Self.http) == "a=2")
    client.receive("a=3; Secure", at: Self.https)
    #expect(client.sends(to: Self.http) == "")
  }

  // MARK: - HttpOnly

  @Test
  func httpOnlyCookieIsHiddenFromOtherInterfaces() {
    let script = Cookie.Context(access: .nonHTTP)
    var client = CookieClient()
    client.receive("a=1; HttpOnly", "b=2")
    #expect(client.sends() == "a=1; b=2")
    #expect(client.sends(in: script) == "b=2")
    client.receive("c=3; HttpOnly", "a=4", "b=5", in: script)
    #expect(client.refusals == [.httpOnly, .httpOnly])
    #expect(client.sends() == "a=1; b=5")
  }

  // MARK: - SameSite

  private static let crossSite = Cookie.Context(isSameSite: false)

  @Test(arguments: [
    (Cookie.Context(), "none; strict; lax; default; "),
    (Cookie.Context(method: .post), "none; strict; lax; default; "),
    (Cookie.Context(isSameSite: false), "none; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true), "none; lax; default; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true, method: .head), "none; lax; default; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true, method: .post), "none; "),
    (Cookie.Context(isSameSite: false, method: .post), "none; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true, access: .nonHTTP), "none; "),
    (Cookie.Context(isTopLevelNavigation: true), "none; strict; lax; default; "),
  ])
  func sameSiteDecidesWhatIsSent(_ context: Cookie.Context, sent: String) {
    var client = CookieClient()
    client.receive(
      "none; SameSite=None; Secure", "strict=; SameSite=Strict", "lax=; SameSite=Lax", "default=", at: Self.https)
    #expect(client.sends(to: Self.https, in: context).replacing("=", with: "") + "; " == sent)
  }

  @Test(arguments: [
    (Cookie.Context(), "none; strict; lax; default; "),
    (Cookie.Context(isSameSite: false), "none; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true), "none; strict; lax; default; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true, method: .post), "none; strict; lax; default; "),
    (Cookie.Context(isSameSite: false, isTopLevelNavigation: true, access: .nonHTTP), "none; "),
  ])
  func sameSiteDecidesWhatIsStored(_ context: Cookie.Context, taken: String) {
    var client = CookieClient()
    client.receive(
      "none; SameSite=None; Secure", "strict=; SameSite=Strict", "lax=; SameSite=Lax", "default=", at: Self.https,
      in: context)
    #expect(client.sends(to: Self.https).replacing("=", with: "") + "; " == taken)
  }

  @Test
  func sameSiteNoneHasToBeSecure() {
    var client = CookieClient()
    client.receive("a=1; SameSite=None", at: Self.https)
    client.receive("a=1; SameSite=None", at: Self.http)
    #expect(client.refusals == [.sameSiteNoneNotSecure, .sameSiteNoneNotSecure])
    client.receive("a=1; SameSite=None; SameSite=Lax", at: Self.http)
    #expect(client.sends() == "a=1")
  }

  @Test
  func aLaterCookieCanRemoveSameSite() {
    var client = CookieClient()
    client.receive("a=1; SameSite=Strict", "a=2; SameSite=None; Secure", at: Self.https)
    #expect(client.sends(to: Self.https, in: Self.crossSite) == "a=2")
  }

  // MARK: - Prefixes

  @Test(arguments: [
    ("__Secure-a=b; Secure", true), ("__Secure-a=b", false), ("__secure-a=b", false), ("__SECURE-a=b; Secure", true),
    ("__SeCuRe-a=b; HttpOnly", false), ("__Secure-a=b; Secure; Domain=example.org; Path=/dir", true),
    ("__Secure-=b; Secure", true), ("__Secure-=b", false), ("__Secure=b", true), ("_Secure-a=b", true),
    ("a__Secure-=b", true), (" __Secure-a=b", false),
    ("__Host-a=b; Secure; Path=/", true), ("__Host-a=b; Path=/", false), ("__Host-a=b; Secure", false),
    ("__Host-a=b; Secure; Path=/dir", false), ("__Host-a=b; Secure; Path=/; Domain=www.example.org", false),
    ("__Host-a=b; Secure; Path=/; Domain=example.org", false), ("__Host-a=b; Secure; Path=/; Domain=", true),
    ("__host-a=b; Secure; Path=/", true), ("__hOsT-a=b; Secure", false), ("__HOST-a=b; Path=/", false),
    ("__Host-a=b; Secure; Path=/x; Path=/", true), ("__Host-a=b; Secure; Path=/; Path=/x", false),
    ("__Host-=b; Secure; Path=/", true), ("__Host=b", true),
    ("__Http-a=b; Secure; HttpOnly", true), ("__Http-a=b; Secure", false), ("__http-a=b; HttpOnly", false),
    ("__Http-a=b; Secure; HttpOnly; Domain=example.org", true), ("__HttpOnly-a=b", true),
    ("__Host-Http-a=b; Secure; Path=/; HttpOnly", true), ("__Host-Http-a=b; Secure; Path=/", false),
    ("__host-http-a=b; Secure; HttpOnly", false),
    ("__Host-Http-a=b; Secure; Path=/; HttpOnly; Domain=example.org", false),
    // A nameless cookie that would be read as one with a prefix.
    ("=__Secure-a=b; Secure", false), ("=__Host-a=b; Secure; Path=/", false), ("__Host-a; Secure; Path=/", false),
    ("__secure-a; Secure", false), ("=__Http-a=b; Secure; HttpOnly", false), ("=x__Host-a=b", true),
    ("=__HoSt-HtTp-a=b; Secure; HttpOnly; Path=/", false), ("= __Secure-a=b", false), ("=__Secure", true),
  ])
  func prefixesRequireTheirAttributes(_ line: String, isTaken: Bool) {
    var client = CookieClient()
    client.receive(line, at: Self.https)
    #expect(client.sends(to: Self.https).isEmpty == !isTaken)
    #expect(client.refusals == (isTaken ? [] : [.prefix]))
  }

  @Test(arguments: ["Secure", "Secure; Path=", "Secure; Path", "Secure; Path=x"])
  func theHostPrefixRequiresAnExplicitPath(_ attributes: String) {
    var client = CookieClient()
    client.receive("__Host-a=b; \(attributes)", at: "https://www.example.org/")
    #expect(client.refusals == [.prefix])
  }

  @Test(arguments: ["__Secure-a=b; Secure", "__Host-a=b; Secure; Path=/", "__Http-a=b; Secure; HttpOnly"])
  func prefixesNeedASecureConnection(_ line: String) {
    #expect(CookieClient.echo([line], at: Self.http, to: Self.https) == "")
  }

  // MARK: - Descriptions

  @Test
  func descriptionLeavesTheValueOut() {
    let cookie = Cookie(name: "id", value: "s3cret", domain: "example.org", isSecure: true, sameSite: .lax)
    #expect(cookie.description == "id=…; host example.org; path /; secure; SameSite=lax")
    #expect("\([cookie])".contains("s3cret") == false)
  }
}
