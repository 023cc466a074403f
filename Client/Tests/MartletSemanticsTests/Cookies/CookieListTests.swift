@_spi(Toolkit) import MartletSemantics
import Testing

/// The limits of RFC 6265bis §5.7 and §6.1, and cookies that a program adds by hand.
@Suite(.timeLimit(.minutes(5)))
struct CookieListTests {
  private static let start = Date(timeIntervalSince1970: 1_800_000_000)

  private static func cookie(
    _ name: String, domain: String = "example.org", used: TimeInterval, isSecure: Bool = false
  ) -> Cookie {
    var cookie = Cookie(name: name, value: "1", domain: domain, isSecure: isSecure, created: start)
    cookie.lastAccessed = start + used
    return cookie
  }

  @Test
  func insecureAndLeastRecentlyUsedCookiesAreRemovedFirst() {
    var list = CookieList([
      Self.cookie("secure, old", used: 1, isSecure: true), Self.cookie("new", used: 9), Self.cookie("old", used: 2),
      Self.cookie("secure, new", used: 8, isSecure: true), Self.cookie("elsewhere", domain: "a.example.org", used: 0),
    ])
    var names: [[String]] = []
    for limit in [4, 3, 2, 1] {
      list.trim("example.org", to: limit)
      names.append(list.cookies.map(\.name))
    }
    #expect(
      names == [
        ["secure, old", "new", "old", "secure, new", "elsewhere"], ["secure, old", "new", "secure, new", "elsewhere"],
        ["secure, old", "secure, new", "elsewhere"], ["secure, new", "elsewhere"],
      ])
  }

  @Test
  func linesOfAResponseAreProcessedInOrder() {
    var list = CookieList([Self.cookie("kept", used: 0), Self.cookie("secure", used: 0, isSecure: true)])
    func line(_ name: String, _ value: String, expires: Date? = nil, path: String = "/") -> Result<
      Cookie, Cookie.Refusal
    > {
      .success(
        Cookie(name: name, value: value, domain: "example.org", path: path, expires: expires, created: Self.start))
    }
    let outcomes = list.receive(
      [
        line("a", "1"), line("b", "1"), .failure(Cookie.Refusal(.publicSuffix, name: "c")), line("a", "2"),
        line("b", "", expires: .distantPast), line("b", "3"), line("secure", "stolen", path: "/login"),
        line("kept", "", expires: .distantPast),
      ], isSecure: false, in: Cookie.Context(), limit: 180, now: Self.start)

    #expect(outcomes.map(\.refusal?.reason) == [nil, nil, .publicSuffix, nil, nil, nil, .hidesSecureCookie, nil])
    #expect(list.cookies.map { $0.name + "=" + $0.value } == ["secure=1", "a=2", "b=3"])
    let created = list.cookies.dropFirst().map(\.created)
    #expect(Set(created).count == 2)
    #expect(created == created.sorted())
  }

  @Test
  func theLastOfTenThousandLinesAreKept() {
    var list = CookieList([Self.cookie("old", used: -10)])
    let lines = (0..<11_000).map { number in
      Result<Cookie, Cookie.Refusal>.success(
        Cookie(name: "n\(number)", value: "1", domain: "example.org", created: Self.start))
    }
    let outcomes = list.receive(lines, isSecure: true, in: Cookie.Context(), limit: 180, now: Self.start)

    #expect(outcomes.allSatisfy { $0.refusal == nil })
    #expect(list.cookies.map(\.name) == (10_820..<11_000).map { "n\($0)" })
  }

  @Test
  func leastRecentlyUsedCookiesOfAllSitesAreRemovedFirst() {
    var expired = Self.cookie("expired", domain: "b", used: 9)
    expired.expires = Self.start
    let sites = [
      "a": [Self.cookie("1", domain: "a", used: 3), Self.cookie("2", domain: "a", used: 1, isSecure: true)],
      "b": [Self.cookie("3", domain: "b", used: 2), Self.cookie("4", domain: "b", used: 4), expired],
    ]
    func victims(_ total: Int) -> [String] {
      Cookie.Limits(total: total).excess(in: sites, now: Self.start).values.joined().map(\.name).sorted()
    }
    #expect(victims(4) == ["expired"])
    #expect(victims(3) == ["2", "expired"])
    #expect(victims(1) == ["1", "2", "3", "expired"])
  }

  @Test
  func anEleventhOfTheCookiesIsRemovedAtOnce() {
    let cookies = (0..<34).map { Self.cookie("n\($0)", domain: "a", used: Double($0)) }
    func victims(_ total: Int) -> Int {
      Cookie.Limits(total: total).excess(in: ["a": cookies], now: Self.start).values.joined().count
    }
    #expect(victims(34) == 0)
    #expect(victims(33) == 4, "30 of 34 are left")
    #expect(victims(10) == 24, "10 are left")
  }

  /// At most 150 cookies and 8,190 bytes with `Cookie: ` are sent; the order decides, and what does not fit is left
  /// out.
  @Test(arguments: [
    (Array(repeating: 10, count: 150), 150), (Array(repeating: 10, count: 151), 150),
    (Array(repeating: 4000, count: 3), 2), ([4000, 4100, 76, 4000], 3), ([4089, 4091], 2), ([4089, 4092], 1),
    ([4089, 4092, 4091], 2), ([], 0),
  ])
  func onlyWhatServersAcceptIsSent(_ lengths: [Int], sent: Int) {
    let cookies = lengths.enumerated().map { number, length in
      let name = "n\(number)"
      return Cookie(
        name: name, value: String(repeating: "v", count: length - name.utf8.count - 1), domain: "example.org",
        created: Self.start + Double(number))
    }
    let request = CookieClient.request("http://example.org/")
    let chosen = request.map { CookieList(cookies).cookies(for: $0, in: .init(), now: Self.start) } ?? []
    #expect(chosen.count == sent)
    #expect((CookieList.header(chosen) ?? "").utf8.count <= 8182)
    #expect(chosen.first?.name == cookies.first?.name)
  }

  @Test
  func limitsAreAtLeastOne() {
    #expect(Cookie.Limits(perDomain: 0, total: -1) == Cookie.Limits(perDomain: 1, total: 1))
    #expect(Cookie.Limits() == Cookie.Limits(perDomain: 180, total: 3300))
  }

  @Test
  func onlyLaterAccessTimesAreStored() {
    var list = CookieList([Self.cookie("a", used: 5), Self.cookie("b", used: 5)])
    list.touch([list.cookies[0].identity: Self.start + 9, list.cookies[1].identity: Self.start + 1])
    #expect(list.cookies.map(\.lastAccessed) == [Self.start + 9, Self.start + 5])
  }

  @Test
  func manyCookiesOfOneSiteAreFoundAndReplacedFast() {
    var list = CookieList((0..<3000).map { Self.cookie("n\($0)", domain: "h\($0 % 60).example.org", used: 0) })
    let request = CookieClient.request("http://h7.example.org/")
    let clock = ContinuousClock()
    let time = clock.measure {
      for _ in 0..<20 { #expect(request.map { list.cookies(for: $0, in: .init(), now: Self.start).count } == 50) }
      for index in 0..<100 { list.put(Self.cookie("n\(index)", domain: "h\(index % 60).example.org", used: 1)) }
    }
    #expect(list.cookies.count == 3000)
    #expect(time < .seconds(20))  // a square of them takes minutes
  }

  @Test(arguments: [
    (Cookie(name: "", value: "", domain: "example.org"), Cookie.Refusal.Reason.empty),
    (Cookie(name: "a\u{1}", value: "", domain: "example.org"), .controlCharacter),
    (Cookie(name: "a", value: "b\r\nX: y", domain: "example.org"), .controlCharacter),
    (Cookie(name: "a", value: "b;c", domain: "example.org"), .unsendable),
    (Cookie(name: "a=b", value: "c", domain: "example.org"), .unsendable),
    (Cookie(name: "a;b", value: "c", domain: "example.org"), .unsendable),
    (Cookie(name: " a", value: "c", domain: "example.org"), .unsendable),
    (Cookie(name: "a", value: "c", domain: "example.org", path: "dir"), .unsendable),
    (Cookie(name: "a", value: String(repeating: "b", count: 4096), domain: "example.org"), .tooLarge),
    (Cookie(name: "a", value: "b", domain: ""), .noHost),
    (Cookie(name: "a", value: "b", domain: "exa mple.org"), .noHost),
    (Cookie(name: "a", value: "b", domain: "org", isHostOnly: false), .publicSuffix),
    (Cookie(name: "__Host-a", value: "b", domain: "example.org"), .prefix),
    (Cookie(name: "__Host-a", value: "b", domain: "example.org", isHostOnly: false, isSecure: true), .prefix),
    (Cookie(name: "", value: "__Secure-a=b", domain: "example.org", isSecure: true), .prefix),
    (Cookie(name: "a", value: "b", domain: "example.org", sameSite: .none), .sameSiteNoneNotSecure),
  ])
  func cookieThatCouldNotBeSentIsRefused(_ cookie: Cookie, reason: Cookie.Refusal.Reason) {
    let refusal = #expect(throws: Cookie.Refusal.self) { try cookie.checked(CookieClient.suffixes) }
    #expect(refusal?.reason == reason)
  }

  @Test
  func domainsAreCanonicalized() throws {
    func domain(_ domain: String) throws -> String {
      try Cookie(name: "a", value: "b", domain: domain, isHostOnly: false).checked(CookieClient.suffixes).domain
    }
    #expect(try domain(".Example.ORG") == "example.org")
    #expect(try domain("bücher.example.org") == "xn--bcher-kva.example.org")
    #expect(try domain("[::1]") == "::1")
    #expect(try Cookie(name: "a", value: "b", domain: "org").checked(CookieClient.suffixes).isHostOnly)
  }

  @Test
  func cookieSurvivesCoding() throws {
    let cookie = Cookie(
      name: "a", value: "\"é\"", domain: "example.org", isHostOnly: false, path: "/p", expires: Self.start + 0.1,
      isSecure: true, isHTTPOnly: true, sameSite: .strict, created: Self.start + 0.000_001)
    #expect(try JSONDecoder().decode(Cookie.self, from: JSONEncoder().encode(cookie)) == cookie)
  }
}
