import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import TestServers
import Testing

/// `cookies.txt`, exchanged with curl and wget.
@Suite(.timeLimit(.minutes(5)))
struct CookieFileTests {
  private let folder: TemporaryFolder
  private let server: LoopbackServer
  private let lines = [
    "host=1; Max-Age=1000; Path=/", "session=2; Path=/", "site=3; Domain=example.com; Path=/; Max-Age=1000",
    "deep=4; Path=/a/b; HttpOnly; Max-Age=1000", "empty=; Path=/; Max-Age=1000", "quoted=\"x y\"; Path=/",
  ]

  init() throws {
    folder = try TemporaryFolder()
    server = try LoopbackServer { [lines] request in
      request.path == "/a/b/set" ? lines.reduce(.text("")) { $0.with(.setCookie, $1) } : .text("")
    }
  }

  enum Program: String, CaseIterable {
    case curl, wget

    func arguments(proxy: String, reading file: String?, writing other: String?, _ url: String) -> [String] {
      switch self {
      case .curl:
        ["--silent", "--proxy", proxy] + (file.map { ["-b", $0] } ?? ["-b", ""]) + (other.map { ["-c", $0] } ?? []) + [
          url
        ]
      case .wget:
        ["-q", "-O", "-", "-e", "use_proxy=yes", "-e", "http_proxy=\(proxy)"]
          + (file.map { ["--load-cookies=\($0)"] } ?? [])
          + (other.map { ["--keep-session-cookies", "--save-cookies=\($0)"] } ?? []) + [url]
      }
    }
  }

  private func run(_ program: Program, reading file: String? = nil, writing other: String? = nil, _ url: String) throws
  {
    try RealProcess.run(
      program.rawValue,
      program.arguments(proxy: "http://127.0.0.1:\(server.port)", reading: file, writing: other, url), in: folder.url)
  }

  private static func pairs(_ line: String?) -> Set<String> { Set((line ?? "").components(separatedBy: "; ")) }

  @Test(arguments: Program.allCases)
  func cookieFilesOfOtherProgramsAreRead(_ program: Program) async throws {
    let file = folder.file("its.txt")
    try run(program, writing: file.path, "http://www.example.com/a/b/set")
    let its = CookieJar(), ours = CookieJar()
    let page = url("http://www.example.com/a/b/set")

    let problems = try await its.importNetscape(String(contentsOf: file, encoding: .utf8))
    try await ours.store(setCookie: lines, for: page)

    #expect(problems == [])
    for target in [
      "http://www.example.com/a/b/c", "http://www.example.com/", "http://x.example.com/", "http://example.org/",
    ] {
      let target = try #require(URL(string: target))
      #expect(
        Self.pairs(try await its.cookieHeader(for: target)) == Self.pairs(try await ours.cookieHeader(for: target)),
        "\(target)")
    }
    let session = try await its.allCookies().filter(\.isSession).map(\.name).sorted()
    #expect(session == ["quoted", "session"])
  }

  @Test(arguments: Program.allCases)
  func otherProgramsReadOurCookieFiles(_ program: Program) async throws {
    let jar = CookieJar()
    let page = url("http://www.example.com/a/b/set")
    try await jar.store(setCookie: lines, for: page)
    let file = folder.file("ours.txt")
    try folder.write(Data(try await jar.exportNetscape().utf8), to: "ours.txt")

    for target in [
      "http://www.example.com/a/b/c", "http://www.example.com/", "http://x.example.com/", "http://example.org/",
    ] {
      try run(program, reading: file.path, target)
      let sent = server.requests.last?.fields[.cookie]
      var expected = Self.pairs(try await jar.cookieHeader(for: try #require(URL(string: target))))
      // wget takes the mark of HttpOnly for a comment
      if program == .wget { expected.remove("deep=4") }
      #expect(Self.pairs(sent) == expected, "\(target)")
    }
  }

  @Test func curlKeepsOurCookieFileIntact() async throws {
    let jar = CookieJar(), again = CookieJar()
    try await jar.store(setCookie: lines, for: url("http://www.example.com/dir/page"))
    try folder.write(Data(try await jar.exportNetscape().utf8), to: "ours.txt")

    try run(.curl, reading: folder.file("ours.txt").path, writing: folder.file("its.txt").path, "http://example.org/")
    let text = try String(contentsOf: folder.file("its.txt"), encoding: .utf8)

    #expect(try await again.importNetscape(text) == [])
    let key: (Cookie) -> String = { "\($0.identity) \($0.value) \($0.isHTTPOnly) \($0.isSecure) \($0.isSession)" }
    #expect(Set(try await again.allCookies().map(key)) == Set(try await jar.allCookies().map(key)))
  }
}
