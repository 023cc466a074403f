@_spi(Toolkit) import MartletSemantics
import Testing

@Suite
struct NetscapeCookieFileTests {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  private static func read(_ text: String) -> [Cookie] {
    NetscapeCookieFile.parse(text, now: now).cookies.map(\.cookie)
  }

  private static func cookie(
    _ name: String = "a", _ value: String = "b", domain: String = "example.org", isHostOnly: Bool = true,
    path: String = "/", end: TimeInterval? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false
  ) -> Cookie {
    Cookie(
      name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path,
      expires: end.map { Date(timeIntervalSince1970: $0) }, isSecure: isSecure, isHTTPOnly: isHTTPOnly, created: now)
  }

  @Test(arguments: [
    ("example.org\tFALSE\t/\tFALSE\t0\ta\tb", cookie()),
    (
      ".example.org\tTRUE\t/x\tTRUE\t1800000001\ta\tb",
      cookie(isHostOnly: false, path: "/x", end: 1_800_000_001, isSecure: true)
    ),
    ("example.org\tTRUE\t/\tFALSE\t0\ta\tb", cookie(isHostOnly: false)),
    (".example.org\tFALSE\t/\tFALSE\t0\ta\tb", cookie()),
    ("#HttpOnly_.example.org\tTRUE\t/\tFALSE\t0\ta\tb", cookie(isHostOnly: false, isHTTPOnly: true)),
    ("#HttpOnly_example.org\tfalse\t/\tfalse\t0\ta\tb", cookie(isHTTPOnly: true)),
    ("example.org\tFALSE\t/\tFALSE\t0\ta\t", cookie("a", "")),
    ("example.org\tFALSE\t/\tFALSE\t0\ta", cookie("a", "")),
    ("example.org\tFALSE\t/\tFALSE\t0\t\tb", cookie("", "b")),
    ("example.org\t\tFALSE\t/\t\tFALSE\t0\t\ta\tb", cookie()),
    ("example.org\tFALSE\t/\tFALSE\t0\ta b\t\"c = d\"", cookie("a b", "\"c = d\"")),
    ("example.org\tFALSE\t/\tFALSE\t-1\ta\tb", cookie()),
    ("example.org\tFALSE\t/\tFALSE\t1800000000.5\ta\tb", cookie(end: 1_800_000_000.5)),
    ("example.org\tFALSE\t/\tFALSE\t99999999999\ta\tb", cookie(end: 1_800_000_000 + 400 * 86_400)),
    ("127.0.0.1:8080\tFALSE\t/\tFALSE\t0\ta\tb", cookie(domain: "127.0.0.1")),
    ("Example.ORG\tFALSE\t/\tFALSE\t0\ta\tb\r", cookie()),
    ("::1\tFALSE\t/\tFALSE\t0\ta\tb", cookie(domain: "::1")),
    ("[::1]:80\tFALSE\t/\tFALSE\t0\ta\tb", cookie(domain: "::1")),
    ("bücher.example.org\tFALSE\t/\tFALSE\t0\ta\té", cookie("a", "é", domain: "xn--bcher-kva.example.org")),
  ])
  func lineIsACookie(_ line: String, expected: Cookie) {
    #expect(Self.read(line) == [expected])
  }

  @Test
  func commentsAndEmptyLinesAreIgnored() {
    let text = """
      \u{FEFF}# Netscape HTTP Cookie File
      # https://curl.se/docs/http-cookies.html

        \t
      #example.org\tFALSE\t/\tFALSE\t0\ta\tb
      example.org\tFALSE\t/\tFALSE\t0\tc\td
      """
    #expect(Self.read(text).map(\.name) == ["c"])
    #expect(NetscapeCookieFile.parse(text, now: Self.now).problems.isEmpty)
    #expect(Self.read("").isEmpty)
  }

  @Test(arguments: [
    ("example.org FALSE / FALSE 0 a b", "seven"), ("example.org\tFALSE\t/", "seven"),
    ("example.org\tFALSE\t/\tFALSE\t0\ta\tb\tc", "seven"), ("example.org\tyes\t/\tFALSE\t0\ta\tb", "TRUE or FALSE"),
    ("example.org\tFALSE\t/\t\t0\ta\tb", "TRUE or FALSE"), ("example.org\tFALSE\t/\tFALSE\tsoon\ta\tb", "seconds"),
    ("example.org\tFALSE\t/\tFALSE\tnan\ta\tb", "seconds"), ("\tFALSE\t/\tFALSE\t0\ta\tb", "host"),
    ("example.org\tFALSE\tdir\tFALSE\t0\ta\tb", "path"),
  ])
  func anInvalidLineIsReportedAndTheOthersAreRead(_ line: String, remedy: String) {
    let good = "example.org\tFALSE\t/\tFALSE\t0\ta\tb"

    let (cookies, problems) = NetscapeCookieFile.parse("\(good)\n\(line)\n\(good)", now: Self.now)

    #expect(cookies.map(\.line) == [1, 3])
    #expect(problems.map(\.line) == [2])
    #expect(problems.first?.description.contains(remedy) == true)
  }

  @Test
  func cookiesAreWrittenAsCurlWritesThem() {
    let cookies = [
      Self.cookie(),
      Self.cookie("c", "", isHostOnly: false, path: "/x", end: 1_800_000_000.2, isSecure: true, isHTTPOnly: true),
      Self.cookie("", "nameless"), Self.cookie("tab", "a\tb"),
    ]
    #expect(
      NetscapeCookieFile.format(cookies) == """
        # Netscape HTTP Cookie File
        # https://curl.se/docs/http-cookies.html

        example.org\tFALSE\t/\tFALSE\t0\ta\tb
        #HttpOnly_.example.org\tTRUE\t/x\tTRUE\t1800000001\tc\t
        example.org\tFALSE\t/\tFALSE\t0\t\tnameless

        """)
  }

  @Test
  func writtenFilesAreReadAgain() {
    let cookies = [
      Self.cookie(end: 1_800_000_100), Self.cookie("", "x", isHostOnly: false), Self.cookie("é", "=;ü", isSecure: true),
    ]
    #expect(Self.read(NetscapeCookieFile.format(cookies)) == cookies)
  }
}
