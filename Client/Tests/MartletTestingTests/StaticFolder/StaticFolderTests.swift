import Martlet
import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StaticFolderTests {
  private let folder: TemporaryFolder
  private let client: ConnectedServer

  init() throws {
    let temporary = try TemporaryFolder()
    try temporary.write(Data("outside".utf8), to: "secret.txt")
    let root = temporary.url.appending(path: "root")
    try temporary.write(Data("hello world".utf8), to: "root/a.txt")
    try temporary.write(Data("<p>".utf8), to: "root/index.html")
    try temporary.write(Data("äöü".utf8), to: "root/Grüße aus Köln.TXT")
    try temporary.write(Data("deep".utf8), to: "root/sub/deep.json")
    try temporary.write(Data("".utf8), to: "root/empty.png")
    try FileManager.default.createSymbolicLink(
      at: root.appending(path: "leak.txt"), withDestinationURL: temporary.url.appending(path: "secret.txt"))
    try FileManager.default.createSymbolicLink(
      at: root.appending(path: "alias.txt"), withDestinationURL: root.appending(path: "a.txt"))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 784_111_777)],
      ofItemAtPath: root.appending(path: "a.txt").path)
    let served = StaticFolder(root)
    client = try ConnectedServer { served.reply(to: $0) }
    folder = temporary
  }

  #if os(Linux)
  /// Their size is 0, or that of a page.
  @Test(arguments: [("/proc", "/self/stat"), ("/proc", "/cpuinfo"), ("/sys/kernel", "/uevent_seqnum")])
  func aFileThatIsMadeWhenItIsReadIsServedWhole(root: String, path: String) async throws {
    let folder = StaticFolder(URL(filePath: root))
    let server = try LoopbackServer { request in
      request.path == "/file" ? try .file(URL(filePath: root + path)) : folder.reply(to: request)
    }
    for target in [path, "/file"] {
      let request = HTTPRequest(.get, server.url(target), fields: [.range: "bytes=0-0"])
      let (data, response) = try await HTTPSession().data(for: request)

      #expect(response.status == .ok)
      #expect(!data.isEmpty && data.last == 0x0A)
      #expect(!response.fields.contains(.contentLength) && !response.fields.contains(.eTag))
      if target == path { #expect(response.fields[.cacheControl] == "no-store") }
    }
  }
  #endif

  @Test func aFileHasValidatorsAndFreshness() throws {
    try client.get("/a.txt")
    let (head, body) = try client.response()
    #expect(head.hasPrefix("HTTP/1.1 200 OK\r\nETag: \""))
    #expect(head.contains("\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"))
    #expect(head.contains("\r\nCache-Control: max-age=3600\r\n"))
    #expect(head.contains("\r\nContent-Type: text/plain; charset=utf-8\r\n"))
    #expect(head.contains("\r\nAccept-Ranges: bytes\r\n"))
    #expect(body == "hello world")
  }

  @Test(arguments: [
    ("/", "text/html; charset=utf-8", "<p>"),
    ("/index.html?x=1", "text/html; charset=utf-8", "<p>"),
    ("/sub/deep.json", "application/json", "deep"),
    ("/empty.png", "image/png", ""),
    ("/alias.txt", "text/plain; charset=utf-8", "hello world"),
    ("/%61.txt", "text/plain; charset=utf-8", "hello world"),
    ("/Gr%C3%BC%c3%9fe%20aus%20K%C3%B6ln.TXT", "text/plain; charset=utf-8", "äöü"),
  ])
  func pathsMeanFiles(target: String, type: String, body: String) throws {
    try client.get(target)
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(response.head.contains("Content-Type: \(type)\r\n"))
    #expect(response.body == body)
  }

  @Test(arguments: [
    "/none.txt", "/sub", "/sub/", "/a.txt/", "//a.txt", "/./a.txt", "*",
    "/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/.%2E/secret.txt", "/..%2fsecret.txt",
    "/%2e%2e%2fsecret.txt", "/sub%2fdeep.json", "/a.txt%00", "/a.txt%00.png", "/leak.txt", "/%", "/%zz", "/%ff",
    "/%252e%252e/secret.txt",
  ])
  func pathsOutsideTheFolderOrWithoutAFileAreNotFound(target: String) throws {
    try client.get(target)
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    #expect(!response.body.contains("outside"))
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
  func otherMethodsAreNotAllowed(method: String) throws {
    try client.request(method, "/a.txt")
    let head = try client.head()
    #expect(head.hasPrefix("HTTP/1.1 405 Method Not Allowed\r\n"))
    #expect(head.contains("Allow: GET, HEAD\r\n"))
  }

  @Test func headSendsTheHeadOfGet() throws {
    try client.get("/a.txt")
    let get = try client.response().head
    try client.request("HEAD", "/a.txt", "Range: bytes=0-1")
    #expect(try client.head() == get)
    try client.request("HEAD", "/none")
    #expect(try client.head().hasPrefix("HTTP/1.1 404"))
  }

  /// One row for each sentence of RFC 9110 §13.1 and §13.2.2; `TAG` stands for the file's entity tag.
  @Test(arguments: [
    (["If-None-Match: TAG"], "304"),
    (["If-None-Match: W/TAG"], "304"),
    (["If-None-Match: \"x\", TAG"], "304"),
    (["If-None-Match: *"], "304"),
    (["If-None-Match: \"x\""], "200"),
    (["If-None-Match: \"x\"", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], "200"),
    (["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], "304"),
    (["If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT"], "200"),
    (["If-Modified-Since: yesterday"], "200"),
    (["If-Match: TAG"], "200"),
    (["If-Match: *"], "200"),
    (["If-Match: W/TAG"], "412"),
    (["If-Match: \"x\""], "412"),
    (["If-Match: TAG", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT"], "200"),
    (["If-Match: TAG", "If-None-Match: TAG"], "304"),
    (["If-Match: \"x\"", "If-None-Match: TAG"], "412"),
    (["If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], "200"),
    (["If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT"], "412"),
    (["If-Unmodified-Since: tomorrow"], "200"),
    (["If-None-Match: TAG", "Range: bytes=0-1"], "304"),
    (["If-Match: \"x\"", "Range: bytes=0-1"], "412"),
  ])
  func conditionsAreObeyed(fields: [String], status: String) throws {
    let tag = try tag(of: "/a.txt")
    try client.client.request("GET", "/a.txt", fields.map { $0.replacing("TAG", with: tag) })
    let (head, body) = try status == "304" ? (client.head(), "") : client.response()
    #expect(head.hasPrefix("HTTP/1.1 \(status) "))
    #expect(body == (status == "200" ? "hello world" : ""))
    #expect(head.contains("ETag: \(tag)\r\n") == (status != "412"))
  }

  /// RFC 9110 §14.1.2 and §14.2, on eleven bytes.
  @Test(
    arguments: [
      ("bytes=0-4", "206", "hello", "bytes 0-4/11"),
      ("bytes=6-", "206", "world", "bytes 6-10/11"),
      ("bytes=-5", "206", "world", "bytes 6-10/11"),
      ("bytes=-50", "206", "hello world", "bytes 0-10/11"),
      ("bytes=10-99999999999999999999", "206", "d", "bytes 10-10/11"),
      ("BYTES= 0-0", "206", "h", "bytes 0-0/11"),
      ("bytes=11-", "416", "", "bytes */11"),
      ("bytes=-0", "416", "", "bytes */11"),
      ("bytes=4-2", "200", "hello world", nil),
      ("bytes=0-1,3-4", "200", "hello world", nil),
      ("bytes=x", "200", "hello world", nil),
      ("bytes=-", "200", "hello world", nil),
      ("lines=0-1", "200", "hello world", nil),
    ] as [(String, String, String, String?)])
  func rangesAreObeyed(range: String, status: String, body: String, contentRange: String?) throws {
    try client.get("/a.txt", "Range: \(range)")
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 \(status) "))
    #expect(response.body == body)
    #expect(response.head.contains("Content-Range:") == (contentRange != nil))
    if let contentRange { #expect(response.head.contains("Content-Range: \(contentRange)\r\n")) }
  }

  @Test func anEmptyFileHasNoRange() throws {
    try client.get("/empty.png", "Range: bytes=-1")
    #expect(try client.head().hasPrefix("HTTP/1.1 416 "))
  }

  /// RFC 9110 §13.1.5.
  @Test(arguments: [
    ("TAG", "206"),
    ("W/TAG", "200"),
    ("\"x\"", "200"),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "206"),
    ("Sun, 06 Nov 1994 08:49:38 GMT", "200"),
  ])
  func ifRangeDecidesWhetherTheRangeApplies(condition: String, status: String) throws {
    let condition = condition.replacing("TAG", with: try tag(of: "/a.txt"))
    try client.get("/a.txt", "Range: bytes=0-4", "If-Range: \(condition)")
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 \(status) "))
    #expect(response.body == (status == "206" ? "hello" : "hello world"))
  }

  @Test func changedContentChangesTheTag() throws {
    let before = try tag(of: "/a.txt")
    #expect(try tag(of: "/a.txt") == before)
    try folder.write(Data("hello there".utf8), to: "root/a.txt")
    #expect(try tag(of: "/a.txt") != before)
  }

  @Test func aFolderCanBeMountedBelowAPath() throws {
    var served = StaticFolder(folder.url.appending(path: "root"), mountedAt: "/files")
    served.maxAge = nil
    let mounted = try ConnectedServer { [served] in served.reply(to: $0) }
    try mounted.get("/files/a.txt")
    let response = try mounted.response()
    #expect(response.body == "hello world")
    #expect(!response.head.contains("Cache-Control"))
    for target in ["/a.txt", "/filesa.txt", "/files/../a.txt"] {
      try mounted.get(target)
      #expect(try mounted.response().head.hasPrefix("HTTP/1.1 404 "))
    }
  }

  private func tag(of target: String) throws -> String {
    try client.get(target)
    let line = try client.response().head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }
    return String(try #require(line).dropFirst("ETag: ".count))
  }
}
