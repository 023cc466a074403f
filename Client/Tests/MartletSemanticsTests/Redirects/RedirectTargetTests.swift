@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectTargetTests {
  // RFC 3986 §5.4.1 and §5.4.2, with http for their scheme.
  @Test(arguments: [
    ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
    ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
    ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
    ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
    ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
    ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
    ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
    ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
    ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
    ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
    ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
    ("http://h/a/../b/./c", "http://h/b/c"), ("//h/../g?y", "http://h/g?y"), ("http://h", "http://h"),
    ("http://h?y", "http://h?y"), ("http://h//g//i", "http://h//g//i"), ("//h//g/..", "http://h//"),
    ("http://h/g//../i", "http://h/g/i"), ("/%2e%2e/g", "http://a/g"), ("/b/.%2E", "http://a/"),
    ("http://h/%2Fg/..", "http://h/"),
  ])
  func referenceIsResolved(_ location: String, expected: String) throws {
    #expect(try target(of: location, from: "http://a/b/c/d;p?q") == expected)
  }

  @Test(arguments: [
    ("g", "http://a/g"), ("?y", "http://a?y"), ("/g", "http://a/g"), ("../g", "http://a/g"), ("//b", "http://b"),
  ])
  func referenceIsResolvedAgainstAnEmptyPath(_ location: String, expected: String) throws {
    #expect(try target(of: location, from: "http://a?q") == expected)
  }

  // RFC 9110 §10.2.2: a Location without a fragment inherits that of the request's URL.
  @Test(arguments: [
    ("/b", "http://a/b#f%20g"), ("/b#own", "http://a/b#own"), ("/b#", "http://a/b#"), ("?y", "http://a/p?y#f%20g"),
    ("http://b/", "http://b/#f%20g"), ("http://b?y", "http://b?y#f%20g"),
  ])
  func fragmentIsInherited(_ location: String, expected: String) throws {
    #expect(try target(of: location, from: "http://a/p?q#f%20g") == expected)
  }

  @Test(arguments: [
    ("/a b", "http://a/a%20b"), ("/ü", "http://a/%C3%BC"), ("/%C3%BC b", "http://a/%C3%BC%20b"),
    ("/100%", "http://a/100%25"), ("/%zz", "http://a/%25zz"), ("/%4", "http://a/%254"),
    ("/a|b\\c^d`{e}\"<f>", "http://a/a%7Cb%5Cc%5Ed%60%7Be%7D%22%3Cf%3E"), ("/a[1]%20", "http://a/a%5B1%5D%20"),
    ("?a[]=b c%20", "http://a/p?a%5B%5D=b%20c%20"), ("/a#b#c d", "http://a/a#b%23c%20d"), ("/a\tb", "http://a/a%09b"),
    ("http://[::1]:8080/[x] y", "http://[::1]:8080/%5Bx%5D%20y"),
    ("/日本?語=1", "http://a/%E6%97%A5%E6%9C%AC?%E8%AA%9E=1"),
    ("/a?b=http://[x]", "http://a/a?b=http://%5Bx%5D"), ("/a%2Fb%2e%20", "http://a/a%2Fb%2e%20"),
  ])
  func invalidCharactersAreEncodedOnce(_ location: String, expected: String) throws {
    #expect(try target(of: location, from: "http://a/p?q") == expected)
  }

  @Test func relativeRequestURLIsResolvedFirst() throws {
    let url = try #require(URL(string: "d/e", relativeTo: URL(string: "http://a/b/c")))
    let response = ResponseHead(status: .found, fields: [.location: "f"])

    guard case .follow(let head, _) = RedirectRule().decide(after: response, to: RequestHead(url: url)) else {
      Issue.record("not followed")
      return
    }
    #expect(head.url.absoluteString == "http://a/b/d/f")
    #expect(head.url.baseURL == nil)
  }

  @Test(arguments: [
    ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
    ("//bu\u{308}cher.example/", "http://xn--bcher-kva.example/"), ("http://Ａ.b:81/", "http://a.b:81/"),
    ("http://127.1/a", "http://127.0.0.1/a"), ("//2130706433", "http://127.0.0.1"), ("//[0::1]/", "http://[::1]/"),
  ])
  func theHostHasOneText(_ location: String, expected: String) throws {
    #expect(try target(of: location, from: "http://a/") == expected)
  }

  @Test(arguments: [
    "\\\\b/", "/\\b/", "\\/b/", "http:\\\\b", "http:\\b", "http:/\\b/", "//b\\@c/", "http://b\\.c/", "http://[::1 ]/",
    "http://xn--a/", "//1.2.3.4.5/", "http://[127.0.0.1]/", "http://b:18446744073709551696/", "http://b%3A80/",
  ])
  func aHostThatProgramsReadDifferentlyIsNotFollowed(_ location: String) throws {
    #expect(try target(of: location, from: "http://a/") == nil)
  }

  /// The rule handles any Location, and the URL that it follows is always http or https, with a host.
  @Test func everyCombinationOfUnusualPartsIsHandled() throws {
    let pieces = [
      "", "http:", "https:", "x:", "//", "/", "\\", "a", "@", ":", "u:p@", "[", "]", "[::1]", "%", "%4", "%2F", "?",
      "#",
      " ", "ü", "..", ":80", ":-1",
    ]
    let request = RequestHead(url: try #require(URL(string: "http://u:p@h/a?b#c")), fields: [.cookie: "a=b"])
    var followed = 0

    for first in pieces {
      for second in pieces {
        for third in pieces {
          let response = ResponseHead(status: .found, fields: [.location: first + second + third])
          guard case .follow(let head, _) = RedirectRule().decide(after: response, to: request) else { continue }
          followed += 1
          let origin = Origin(head.url)
          #expect(origin != nil)
          #expect(head.fields.contains(.cookie) == (origin == Origin(request.url)))
        }
      }
    }

    #expect(followed > 1000)
  }

  private func target(of location: String, from url: String) throws -> String? {
    let request = RequestHead(url: try #require(URL(string: url)))
    let response = ResponseHead(status: .found, fields: [.location: location])
    guard case .follow(let head, _) = RedirectRule().decide(after: response, to: request) else { return nil }
    return head.url.absoluteString
  }
}
