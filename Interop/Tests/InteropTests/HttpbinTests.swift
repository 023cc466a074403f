import Foundation
import Martlet
import MartletTesting
import Testing

@Suite("httpbin", .timeLimit(.minutes(2)))
struct HttpbinTests {
  let server: Httpbin
  let session = makeSession()

  init() throws { server = try Httpbin.shared.get() }

  @Test func targetAndFieldsArrive() async throws {
    let fields: HTTPFields = ["X-Martlet": "a b", .accept: "application/json"]
    let echo = try await session.echo(HTTPRequest(.get, server("/get?a=1&b=%20%26&a=2"), fields: fields))

    #expect(echo.args == ["a": .more(["1", "2"]), "b": .one(" &")])
    #expect(echo.headers?["X-Martlet"] == "a b" && echo.headers?["Accept"] == "application/json")
  }

  @Test(arguments: [HTTPMethod.get, .put, .patch, .delete, .post, .trace])
  func methodsArrive(method: HTTPMethod) async throws {
    #expect(try await session.echo(HTTPRequest(method, server("/anything"))).method == method.rawValue)
  }

  @Test func headHasNoBody() async throws {
    let (data, response) = try await session.data(for: HTTPRequest(.head, server("/get")))

    #expect(data.isEmpty && response.status == .ok && response.fields.contains(.contentLength))
  }

  @Test(arguments: [200, 201, 204, 304, 400, 404, 418, 429, 500, 503] as [HTTPStatus])
  func aStatusIsNoError(status: HTTPStatus) async throws {
    #expect(try await session.status(HTTPRequest(.get, server("/status/\(status.code)"))) == status)
  }

  @Test func formsArrive() async throws {
    let pairs = [("a", "1 & 2"), ("ä", "ö"), ("a", "")].map { (name: $0.0, value: $0.1) }
    let echo = try await session.echo(HTTPRequest(.post, server("/post"), body: .form(pairs)))

    #expect(echo.form == ["a": .more(["1 & 2", ""]), "ä": .one("ö")])
  }

  @Test func jsonArrives() async throws {
    let echo = try await session.echo(HTTPRequest(.post, server("/post"), body: try .json(["a": "ä", "b": "\"\\\n"])))

    #expect(echo.json == ["a": "ä", "b": "\"\\\n"])
  }

  @Test func multipartFormsArrive() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Data("from a file".utf8), to: "a b.txt")
    var form = MultipartForm()
    form.append("ü\r\nline", for: "text")
    form.append(.file(folder.file("a b.txt")), for: "file")
    form.append(.stream { pieces(of: Data("streamed".utf8), size: 3) }, for: "stream", fileName: "s.txt")
    let echo = try await session.echo(HTTPRequest(.post, server("/post"), body: .multipart(form)))

    #expect(echo.form == ["text": .one("ü\r\nline")])
    #expect(echo.files == ["file": .one("from a file"), "stream": .one("streamed")])
  }

  @Test(arguments: [Int64(200_000), nil])
  func streamsArrive(length: Int64?) async throws {
    let text = Data(String(repeating: "0123456789", count: 20_000).utf8)
    let body = RequestBody.stream(length: length) { pieces(of: text) }
    let echo = try await session.echo(
      HTTPRequest(.put, server("/put"), fields: [.contentType: "text/plain"], body: body))

    #expect(echo.data.map { Data($0.utf8) } == text)
    #expect((echo.headers?["Transfer-Encoding"] == "chunked") == (length == nil))
  }

  @Test(arguments: ["/gzip", "/deflate", "/brotli"])
  func compressedBodiesAreDecoded(path: String) async throws {
    let (echo, response) = try await session.value(of: Echo.self, for: HTTPRequest(.get, server(path)))

    #expect((echo.gzipped ?? echo.deflated ?? echo.brotli) == true)
    #expect(
      !response.fields.contains(.contentEncoding) && response.networkHead?.fields.contains(.contentEncoding) == true)
  }

  @Test(arguments: ["/redirect/5", "/relative-redirect/3", "/absolute-redirect/3", "/redirect-to?url=%2Fget"])
  func redirectsAreFollowed(path: String) async throws {
    let (_, response) = try await session.data(for: HTTPRequest(.get, server(path)))

    #expect(response.status == .ok && response.url.path == "/get")
    #expect(!response.history.isEmpty)
  }

  @Test(arguments: [
    (301, "GET", ""), (302, "GET", ""), (303, "GET", ""), (307, "POST", "body"), (308, "POST", "body"),
  ])
  func aRedirectKeepsOrChangesTheMethod(status: Int, method: String, body: String) async throws {
    let target = server("/redirect-to?url=%2Fanything&status_code=\(status)")
    let request = HTTPRequest(.post, target, fields: [.contentType: "text/plain"], body: .data(Data("body".utf8)))
    let echo = try await session.echo(request)

    #expect(echo.method == method && echo.data == body)
  }

  @Test func tooManyRedirectsAreAnError() async throws {
    let error = await #expect(throws: HTTPError.self) { try await session.text(server("/redirect/21")) }

    #expect(error?.kind == .tooManyRedirects)
  }

  @Test func aSlowResponseMeetsItsTimeLimits() async throws {
    var request = HTTPRequest(.get, server("/delay/5"))
    request.options.responseTimeout = .milliseconds(300)
    let timeout = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    request.options.responseTimeout = .seconds(20)
    request.options.deadline = .milliseconds(300)
    let deadline = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    #expect(timeout?.kind == .responseTimeout && deadline?.kind == .deadlineExceeded)
  }

  @Test func aDrippingBodyArrivesAsItComes() async throws {
    let target = server("/drip?numbytes=4&duration=1&delay=0")
    let (body, response) = try await session.bytes(for: HTTPRequest(.get, target))
    var chunks: [Data] = []
    for try await chunk in body { chunks.append(chunk) }

    #expect(response.status == .ok && chunks.joined().count == 4)
    #expect(chunks.count > 1)
  }

  @Test(arguments: ["/stream-bytes/100000?chunk_size=1000", "/bytes/100000"])
  func binaryBodiesAreWhole(path: String) async throws {
    let (data, response) = try await session.data(for: HTTPRequest(.get, server(path)))

    #expect(data.count == 100_000)
    #expect((response.networkHead?.fields[.transferEncoding] == "chunked") == path.hasPrefix("/stream"))
  }

  @Test func linesOfAStreamAreJSON() async throws {
    let text = try await session.text(server("/stream/20"))
    let lines = text.split(separator: "\n")

    #expect(lines.count == 20)
    for line in lines { _ = try JSONDecoder().decode(Echo.self, from: Data(line.utf8)) }
  }

  @Test func rangesAreServed() async throws {
    let request = HTTPRequest(.get, server("/range/100"), fields: [.range: "bytes=26-51"])
    let (data, response) = try await session.data(for: request)

    #expect(response.status == .partialContent && response.fields[.contentRange] == "bytes 26-51/100")
    #expect(String(decoding: data, as: UTF8.self) == "abcdefghijklmnopqrstuvwxyz")
  }

  @Test func validatorsDecide() async throws {
    let target = server("/etag/abc")

    #expect(try await session.status(HTTPRequest(.get, target)) == .ok)
    #expect(try await session.status(HTTPRequest(.get, target, fields: [.ifNoneMatch: "abc"])) == .notModified)
    #expect(try await session.status(HTTPRequest(.get, target, fields: [.ifMatch: "xyz"])) == .preconditionFailed)
  }

  @Test func textOfAllTheWorldArrives() async throws {
    #expect(try await session.text(server("/encoding/utf8")).contains("STARGΛ̊TE"))
  }

  @Test func aDownloadIsWhole() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("bytes")
    let response = try await session.download(for: HTTPRequest(.get, server("/bytes/50000?seed=7")), to: file)

    #expect(response.status == .ok)
    #expect(try Data(contentsOf: file).count == 50_000)
  }

  @Test func manyAtOnceAreAnswered() async throws {
    let statuses = try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for number in 0..<64 {
        group.addTask { try await session.status(HTTPRequest(.get, server("/get?number=\(number)"))) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(statuses == Array(repeating: .ok, count: 64))
  }
}
