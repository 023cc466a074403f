@_spi(Toolkit) import MartletSemantics
import Testing

/// RFC 6265bis §5.1.4, §5.6.4, and the order of §5.8.3.
@Suite
struct CookiePathTests {
  @Test(arguments: [
    ("/", "/"), ("", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("//", "/"), ("//a", "/"),
    ("/a//b", "/a/"), ("/a/b?c/d", "/a"), ("/a%2Fb/c", "/a%2Fb"), ("/a/b#c/d", "/a"), ("?a/b", "/"),
  ])
  func defaultPathGoesUpToTheLastSlash(_ path: String, expected: String) throws {
    #expect(CookiePath.standard(for: try #require(CookieClient.request("http://example.org\(path)")).path) == expected)
  }

  @Test(arguments: [
    ("/", "/", true), ("/", "", true), ("/", "/a/b", true), ("/a", "/a", true), ("/a", "/a/", true),
    ("/a", "/a/b", true),
    ("/a", "/ab", false), ("/a", "/a?b", true), ("/a", "/", false), ("/a/", "/a", false), ("/a/", "/a/", true),
    ("/a/", "/a/b", true), ("/a/", "/ab", false), ("/a/b", "/a/b/c", true), ("/a/b", "/a/bc", false),
    ("/A", "/a", false),
    ("/a%20b", "/a%20b", true), ("/a b", "/a%20b", false), ("/a%2Fb", "/a/b", false), ("/a//", "/a/", false),
    ("/a;b", "/a;b", false), ("\"/a\"", "/a", false), ("/*", "/a", false), ("/a/../b", "/b", false),
  ])
  func cookieGoesWithItsPathAndBelow(_ path: String, requested: String, isSent: Bool) {
    let sent = CookieClient.echo(
      ["a=b; Path=\(path)"], at: "http://example.org/somewhere/else", to: "http://example.org\(requested)")
    #expect(sent == (isSent ? "a=b" : ""))
  }

  @Test(arguments: [
    "Path", "Path=", "Path= ", "Path=a", "Path=dir", "Path=\"/\"", "path=x/y", "Path=/other; Path",
    "Path=/other; Path=",
    "Path=/other; Path=x",
  ])
  func pathThatDoesNotBeginWithASlashIsTheDefault(_ attribute: String) {
    #expect(CookieClient.echo(["a=b; \(attribute)"], to: "http://www.example.org/dir/x") == "a=b")
    #expect(CookieClient.echo(["a=b; \(attribute)"], to: "http://www.example.org/") == "")
  }

  @Test
  func lastPathCounts() {
    #expect(CookieClient.echo(["a=b; Path=/; Path=/x"]) == "")
    #expect(CookieClient.echo(["a=b; Path=/x; Path=/"]) == "a=b")
    #expect(CookieClient.echo(["a=b; Path=; Path=/x"]) == "")
    #expect(CookieClient.echo(["a=b; PATH = /dir "]) == "a=b")
  }

  @Test
  func aNonASCIIPathRejectsTheCookie() {
    var client = CookieClient()
    client.receive("a=b; Path=/dir; Path=/dir/é")
    #expect(client.refusals == [.nonASCIIPath])
    client.receive("c=d; Path=/é; Path=/dir")
    #expect(client.sends() == "c=d")
  }

  @Test
  func longerPathsAreSentFirstThenOlderCookies() {
    var client = CookieClient()
    client.receive("a=1; Path=/", "b=2; Path=/dir/page", "c=3; Path=/dir", "d=4; Path=/", "e=5; Path=/dir/")
    #expect(client.sends() == "b=2; e=5; c=3; a=1; d=4")
  }

  @Test
  func aReplacedCookieKeepsItsPosition() {
    var client = CookieClient()
    client.receive("a=1", "b=2", "c=3")
    client.now += 60
    client.receive("a=4", "d=5", "b=6")
    #expect(client.sends() == "a=4; b=6; c=3; d=5")
    #expect(client.list.cookies.first { $0.name == "a" }?.created == client.now - 60)
    #expect(client.list.cookies.first { $0.name == "a" }?.lastAccessed == client.now)
  }

  @Test
  func aRemovedCookieLosesItsPosition() {
    var client = CookieClient()
    client.receive("a=1", "b=2")
    client.now += 1
    client.receive("a=; Max-Age=0")
    client.receive("a=3")
    #expect(client.sends() == "b=2; a=3")
  }

  @Test
  func cookiesOfTheSameTimeKeepTheirOrder() {
    var client = CookieClient()
    for number in 1...40 { client.receive("n\(number)=1") }
    let shuffled = client.list.cookies.shuffled()
    #expect(Set(shuffled.map(\.created)).count == 40)
    client.list = CookieList(shuffled)
    #expect(client.sends() == (1...40).map { "n\($0)=1" }.joined(separator: "; "))
  }

  @Test
  func cookiesWithOtherPathsAreOtherCookies() {
    #expect(CookieClient.echo(["a=1; Path=/dir", "a=2; Path=/dir"]) == "a=2")
    #expect(CookieClient.echo(["a=1; Path=/dir", "a=2; Path=/dir/"]) == "a=2; a=1")
    #expect(CookieClient.echo(["a=1", "A=2"]) == "a=1; A=2")
    #expect(CookieClient.echo(["a", "=b", "c=d"]) == "b; c=d")
  }
}
