import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectLimitTests {
  @Test(arguments: [
    (1, 0, true), (2, 0, false), (21, 20, true), (22, 20, false), (0, 0, true), (2, 1, true), (1, -1, true),
  ])
  func redirectsUpToTheLimitAreFine(_ places: Int, limit: Int, isFine: Bool) throws {
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
