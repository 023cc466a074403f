@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectRuleTests {
  // RFC 9110 §15.4.2, §15.4.3 (a user agent may change POST to GET), §15.4.4 (303 is retrieved with GET or HEAD),
  // §15.4.8 and §15.4.9 (the method must not change).
  @Test(arguments: [
    (301, "GET", "GET", true), (301, "HEAD", "HEAD", true), (301, "POST", "GET", false), (301, "PUT", "PUT", true),
    (301, "DELETE", "DELETE", true), (301, "PATCH", "PATCH", true),
    (302, "GET", "GET", true), (302, "HEAD", "HEAD", true), (302, "POST", "GET", false), (302, "PUT", "PUT", true),
    (303, "GET", "GET", true), (303, "HEAD", "HEAD", true), (303, "POST", "GET", false), (303, "PUT", "GET", false),
    (303, "DELETE", "GET", false), (303, "OPTIONS", "GET", false), (303, "post", "GET", false),
    (307, "GET", "GET", true), (307, "POST", "POST", true), (307, "PUT", "PUT", true), (307, "HEAD", "HEAD", true),
    (308, "GET", "GET", true), (308, "POST", "POST", true), (308, "DELETE", "DELETE", true),
    // RFC 10008 §2.5: a similar QUERY, without the exceptions for POST; after 303 a GET.
    (301, "QUERY", "QUERY", true), (302, "QUERY", "QUERY", true), (307, "QUERY", "QUERY", true),
    (308, "QUERY", "QUERY", true), (303, "QUERY", "GET", false),
  ])
  func statusDecidesAboutMethodAndBody(_ code: Int, method: String, next: String, keepsBody: Bool) throws {
    let followed = try follow(HTTPStatus(code), method: #require(HTTPMethod(rawValue: method)), to: "/b")

    #expect(followed.head.method.rawValue == next)
    #expect(followed.keepsBody == keepsBody)
    #expect(followed.head.url.absoluteString == "https://a.example/b")
  }

  @Test(arguments: [200, 201, 202, 204, 300, 304, 305, 306, 309, 399, 401, 404, 503, 100])
  func otherStatusesAreNotRedirects(_ code: Int) throws {
    #expect(try decide(HTTPStatus(code), to: "/b") == .none)
  }

  @Test(arguments: [301, 302, 303, 307, 308] as [HTTPStatus])
  func aRedirectWithoutLocationIsTheFinalResponse(_ status: HTTPStatus) throws {
    let request = RequestHead(url: try #require(URL(string: "http://a/")))

    #expect(RedirectRule().decide(after: ResponseHead(status: status), to: request) == .none)
    #expect(RedirectRule().decide(after: .init(status: status, fields: [.location: " "]), to: request) == .none)
  }

  @Test func aRepeatedLocationIsFollowedAndDifferentOnesAreNot() throws {
    let request = RequestHead(url: try #require(URL(string: "http://a/")))
    let same = ResponseHead(status: .found, fields: [.location: "/b", .location: "/b"])
    let different = ResponseHead(status: .found, fields: [.location: "/b", .location: "/c"])

    #expect(RedirectRule().decide(after: same, to: request) != .none)
    guard case .refuse(let reason) = RedirectRule().decide(after: different, to: request) else {
      Issue.record("two Locations were followed")
      return
    }
    #expect(reason.contains("2 different Locations"))
  }

  private static let everything: HTTPFields = [
    .accept: "*/*", .contentType: "text/plain", .contentLength: "3", .contentEncoding: "gzip", .contentLanguage: "de",
    .contentLocation: "/x", .contentRange: "bytes 0-2/3", .contentDisposition: "inline", .contentDigest: "x=:y:",
    "Content-MD5": "x", .digest: "x", .reprDigest: "x", .lastModified: "x", .transferEncoding: "chunked",
    .trailer: "x", .expect: "100-continue", "X-Own": "1", .userAgent: "m", "Contents": "kept",
  ]

  // RFC 9110 §15.4: if the method becomes GET or HEAD, remove content-specific header fields.
  @Test func aDroppedBodyLosesItsFields() throws {
    let followed = try follow(.found, method: .post, to: "/b", fields: Self.everything)

    #expect(followed.head.fields == [.accept: "*/*", "X-Own": "1", .userAgent: "m", "Contents": "kept"])
  }

  @Test func keptBodyKeepsItsFields() throws {
    let followed = try follow(.temporaryRedirect, method: .post, to: "/b", fields: Self.everything)

    #expect(followed.head.fields == Self.everything)
  }

  private static let credentials: HTTPFields = [
    .authorization: "Basic x", .cookie: "a=b", "COOKIE": "c=d", .proxyAuthorization: "Basic y", .host: "a.example",
    "X-Api-Key": "z", "DPoP": "proof", "X-CSRF-Token": "t", .accept: "*/*",
  ]

  @Test(arguments: [
    "https://b.example/", "http://a.example/", "https://a.example:444/", "//b.example/", "https://sub.a.example/",
    "https://a.example./", "https://a.example@b.example/", "https://u:p@b.example/",
  ])
  func redirectToAnotherOriginDropsCredentials(_ location: String) throws {
    let followed = try follow(.found, to: location, fields: Self.credentials, allowsInsecure: true)

    #expect(followed.head.fields == [.accept: "*/*"])
    #expect(followed.head.url.user == nil)
    #expect(followed.head.url.password == nil)
  }

  @Test(arguments: [
    "/b", "?q", "b", "https://a.example/b", "https://A.EXAMPLE:443/b", "//a.example/b", "HTTPS://a.example",
  ])
  func redirectOnTheOriginKeepsCredentials(_ location: String) throws {
    let followed = try follow(.found, to: location, fields: Self.credentials)

    #expect(followed.head.fields == Self.credentials)
  }

  @Test(arguments: [
    ("/b", "https://u:p%40@a.example/b"), ("https://a.example/b", "https://u:p%40@a.example/b"),
    ("https://v@a.example/b", "https://v@a.example/b"), ("//a.example/b", "https://u:p%40@a.example/b"),
    ("https://b.example/b", "https://b.example/b"), ("https://v:w@b.example/b", "https://b.example/b"),
    ("https://a.example:444/b", "https://a.example:444/b"),
  ])
  func userInformationStaysOnTheOrigin(_ location: String, expected: String) throws {
    let followed = try follow(.found, from: "https://u:p%40@a.example/a", to: location)

    #expect(followed.head.url.absoluteString == expected)
  }

  @Test func redirectFromHTTPSToHTTPIsRefusedUnlessAllowed() throws {
    guard case .refuse(let reason) = try decide(.found, to: "http://b.example/x?secret") else {
      Issue.record("went from https to http")
      return
    }
    #expect(reason.contains("http://b.example/x?…"))
    #expect(!reason.contains("secret"))
    #expect(try follow(.found, to: "http://b.example/", allowsInsecure: true).head.url.scheme == "http")
    #expect(try follow(.found, from: "http://a/", to: "https://a/").head.url.scheme == "https")
    #expect(try follow(.found, from: "http://a/", to: "http://b/").head.url.scheme == "http")
  }

  // RFC 9110 §10.1.3: no Referer in an unsecured request if the referring resource was accessed with a secure protocol.
  @Test(arguments: [
    ("https://a.example/", "http://b.example/", false), ("https://a.example/", "https://b.example/", true),
    ("http://a.example/", "http://b.example/", true), ("http://a.example/", "https://b.example/", true),
  ])
  func refererIsNotSentFromHTTPSToHTTP(_ from: String, to: String, isKept: Bool) throws {
    let followed = try follow(.found, from: from, to: to, fields: [.referer: "https://x/"], allowsInsecure: true)

    #expect(followed.head.fields.contains(.referer) == isKept)
  }

  @Test(arguments: [
    ("ftp://h/x", "\"ftp://h/x\" is neither http nor https"), ("javascript:alert(1)", "javascript:alert(1)"),
    ("data:text/html,x", "data:text/html,x"), ("file:///etc/passwd", "file:///etc/passwd"), ("http://", "\"http://\""),
    ("http:///x", "http:///x"), ("http:x", "\"http:x\""), ("http://h:99999/", "http://h:99999/"),
    ("http://h:x/", "http://h:x/"), ("1:2", "\"1:2\" is not a URL"), ("http://a b/", "http://a b/"),
    ("http://a%2Fb/", "http://a%2Fb/"), ("http://a\\b/", "a\\\\b"), ("//:80/", "//:80/"),
    ("//user:password@?secret", "\"…@\""),
  ])
  func anInvalidLocationIsRefusedWithAMessage(_ location: String, named: String) throws {
    guard case .refuse(let reason) = try decide(.found, to: location) else {
      Issue.record("went to \(location)")
      return
    }
    #expect(reason.contains("redirect (302)"))
    #expect(reason.contains(named))
    #expect(!reason.contains("password"))
    #expect(!reason.contains("secret"))
  }

  // MARK: - Links (RFC 8288)

  private func link(
    to target: String, at url: String = "https://a.example/list?page=1", after request: RequestHead? = nil,
    by rule: RedirectRule = RedirectRule()
  ) throws -> Redirect {
    let place = try #require(URL(string: url))
    return rule.decide(linkTo: target, named: "the link", at: place, after: request ?? RequestHead(url: place))
  }

  @Test(arguments: [
    // relative to the URL of the response, and without the body of the request
    ("?page=2", "GET", "GET", "https://a.example/list?page=2"), ("/b", "POST", "GET", "https://a.example/b"),
    ("b", "PUT", "GET", "https://a.example/b"), ("//b.example/", "HEAD", "HEAD", "https://b.example/"),
  ])
  func aLinkIsFollowedLikeA303(_ target: String, method: String, next: String, url: String) throws {
    let request = RequestHead(
      method: try #require(HTTPMethod(rawValue: method)), url: try #require(URL(string: "https://a.example/list")),
      fields: [.contentLength: "3"])
    let redirect = try link(to: target, after: request)
    guard case .follow(let head, let keepsBody) = redirect else {
      Issue.record("\(redirect)")
      return
    }
    #expect(head.url.absoluteString == url)
    #expect(head.method.rawValue == next)
    #expect(keepsBody == (method == next))
    #expect(head.fields.contains(.contentLength) == keepsBody)
  }

  @Test(arguments: [
    // the URL of the response, the target, and whether it may have the request's credentials
    ("https://a.example/list", "/b", true), ("https://a.example/list", "https://b.example/", false),
    // after a redirect to another origin, and back
    ("https://b.example/list", "/b", false), ("https://b.example/list", "https://a.example/", false),
  ])
  func aLinkHasCredentialsOnlyOnTheOriginOfItsRequest(_ url: String, target: String, isKept: Bool) throws {
    let asked = try #require(URL(string: "https://u:p@a.example/list"))
    let redirect = try link(to: target, at: url, after: RequestHead(url: asked, fields: Self.credentials))
    guard case .follow(let head, _) = redirect else {
      Issue.record("\(redirect)")
      return
    }
    #expect(head.fields == (isKept ? Self.credentials : [.accept: "*/*"]))
    #expect(head.url.userInformation == (isKept ? "u:p" : nil))
  }

  @Test(arguments: [
    ("ftp://h/x?secret", "the link cannot be followed: its target \"ftp://h/x\" is neither http nor https"),
    ("1:2", "the link cannot be followed: its target \"1:2\" is not a URL"),
    (
      "http://b/?secret",
      "the link cannot be followed: it leads from https to http://b/?…: allow insecure redirects if that is safe"
    ),
  ])
  func aLinkThatCannotBeFollowedIsRefusedWithItsReason(_ target: String, reason: String) throws {
    #expect(try link(to: target) == .refuse(reason: reason))
  }

  @Test func aLinkMayLeadToHTTPOrElsewhereIfTheRuleSaysSo() throws {
    let insecure = try link(to: "http://a.example/", by: RedirectRule(allowsInsecure: true))
    guard case .follow = insecure else {
      Issue.record("\(insecure)")
      return
    }
    let staying = RedirectRule(staysOnOrigin: true)
    guard case .follow = try link(to: "/b", by: staying) else {
      Issue.record("a link on the origin was refused")
      return
    }
    let reason =
      "the link cannot be followed: https://b.example/ is of another origin, which the redirect policy does not allow"
    #expect(try link(to: "https://b.example/", by: staying) == .refuse(reason: reason))
  }

  // MARK: - -

  private func decide(_ status: HTTPStatus, to location: String) throws -> Redirect {
    let request = RequestHead(url: try #require(URL(string: "https://a.example/a")))
    return RedirectRule().decide(after: ResponseHead(status: status, fields: [.location: location]), to: request)
  }

  private func follow(
    _ status: HTTPStatus, method: HTTPMethod = .get, from url: String = "https://a.example/a", to location: String,
    fields: HTTPFields = [:], allowsInsecure: Bool = false
  ) throws -> (head: RequestHead, keepsBody: Bool) {
    let request = RequestHead(method: method, url: try #require(URL(string: url)), fields: fields)
    let response = ResponseHead(status: status, fields: [.location: location])
    let redirect = RedirectRule(allowsInsecure: allowsInsecure).decide(after: response, to: request)
    guard case .follow(let head, let keepsBody) = redirect else {
      throw NotFollowed(redirect: redirect)
    }
    return (head, keepsBody)
  }

  private struct NotFollowed: Error {
    let redirect: Redirect
  }
}

@Suite(.timeLimit(.minutes(5)))
struct RedirectLimitTests {
  @Test(arguments: [
    (1, 0, true), (2, 0, false), (21, 20, true), (22, 20, false), (0, 0, true), (2, 1, true), (1, -1, true),
  ])
  func redirectsUpToTheLimitAreAllowed(_ places: Int, limit: Int, isFine: Bool) throws {
    #expect((RedirectRule.tooMany(visited: try chain(places), limit: limit) == nil) == isFine)
  }

  @Test func loopIsNamed() throws {
    let urls = try ["http://h/start", "http://h/a", "http://h/b", "http://h/a"].map { try #require(URL(string: $0)) }

    #expect(
      RedirectRule.tooMany(visited: urls, limit: 2)
        == "more than 2 redirects; loop: http://h/a → http://h/b → http://h/a")
  }

  @Test func loopOfOneIsNamed() throws {
    let url = try #require(URL(string: "http://u:p@h/a?secret"))

    #expect(
      RedirectRule.tooMany(visited: [url, url, url], limit: 1)
        == "more than 1 redirect; loop: http://h/a?… → http://h/a?…")
  }

  @Test func withoutALoopTheLastFewAreNamed() throws {
    #expect(
      RedirectRule.tooMany(visited: try chain(22), limit: 20)
        == "more than 20 redirects; the last were: http://h/18 → http://h/19 → http://h/20 → http://h/21")
  }

  @Test func longLoopIsShortened() throws {
    let urls = try chain(20)

    #expect(
      RedirectRule.tooMany(visited: urls + [urls[0]], limit: 19)
        == "more than 19 redirects; loop: http://h/0 → http://h/1 → http://h/2 → http://h/3 → … → http://h/18 → "
        + "http://h/19 → http://h/0")
  }

  private func chain(_ count: Int) throws -> [URL] {
    try (0..<count).map { try #require(URL(string: "http://h/\($0)")) }
  }
}
