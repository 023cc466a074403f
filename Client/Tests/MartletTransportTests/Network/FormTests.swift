import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

/// Request bodies that Python parses, and request bodies that curl sends.
@Suite(.timeLimit(.minutes(5)))
struct FormTests {
  private let session = HTTPSession.uncached()
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func understood(_ body: RequestBody) async throws -> PythonServer.Understood {
    let server = try PythonServer.shared.get()
    return try await session.value(for: HTTPRequest(.post, server.url, body: body)).0
  }

  @Test func pythonReadsAMultipartForm() async throws {
    try folder.write(Data("file\r\n--B\r\n".utf8), to: "Grüße.txt")
    let large = Data.counting(3_000_000)
    try folder.write(large, to: "large.bin")
    var form = MultipartForm()
    form.append("Sonne 🌞", for: "title")
    form.append("", for: "tag")
    form.append("b", for: "tag")
    form.append(.file(folder.file("Grüße.txt")), for: "file ü")
    form.append(.file(folder.file("large.bin")), for: "large")
    form.append(.data(Data("1".utf8)), for: "say \"hi\"", fileName: "a\"\r\nb.png")
    form.append(try .json(["a": 1]), for: "json")

    let understood = try await understood(.multipart(form))

    #expect(understood.length != nil)
    #expect(
      understood.parts == [
        .init(name: "title", content: "Sonne 🌞"), .init(name: "tag", content: ""), .init(name: "tag", content: "b"),
        .init(name: "file ü", fileName: "Grüße.txt", type: "text/plain", content: "file\r\n--B\r\n"),
        .init(
          name: "large", fileName: "large.bin", type: "application/octet-stream",
          content: try digest(of: "large.bin")),
        .init(name: "say %22hi%22", fileName: "a%22%0D%0Ab.png", type: "image/png", content: "1"),
        .init(name: "json", type: "application/json", content: #"{"a":1}"#),
      ])
  }

  @Test func pythonReadsAFormOfUnknownLength() async throws {
    var form = MultipartForm()
    form.append(
      .stream {
        AsyncStream {
          $0.yield(Data("streamed".utf8)); $0.finish()
        }
      }, for: "s", fileName: "s.txt")
    let understood = try await understood(.multipart(form))
    #expect(understood.length == nil)
    #expect(understood.parts == [.init(name: "s", fileName: "s.txt", type: "text/plain", content: "streamed")])
  }

  @Test func pythonReadsAnEncodedForm() async throws {
    let pairs = [("a", "1 2"), ("ü&=+", "%~*-._ \n"), ("a", "")]
    let understood = try await understood(.form(pairs.map { (name: $0.0, value: $0.1) }))
    #expect(understood.pairs == pairs.map { [$0.0, $0.1] })
  }

  @Test(arguments: [ContentCoding.gzip, .deflate], [0, 1, 1000, 65_536, 65_537, 3_000_000])
  func pythonDecodesACompressedBody(_ coding: ContentCoding, size: Int) async throws {
    let data = Data.counting(size)
    try folder.write(data, to: "data")

    for body in [RequestBody.data(data), .file(folder.file("data"))] {
      let understood = try await understood(body.compressed(coding))
      #expect(understood.size == size)
      #expect(try understood.digest == digest(of: "data"))
      #expect((understood.length != nil) == (size <= 65_536))
    }
  }

  /// The names, quotes, types and order of curl's `-F`, line by line.
  @Test func theCurlCommandSendsTheSameForm() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    try folder.write(Data("hello".utf8), to: "ü \"q\".txt")
    try RealProcess.run(
      "curl",
      [
        "-s", "-F", "title=Sonne", "-F", "na\"me\r\nx=v", "-F", "photo=@\"ü \\\"q\\\".txt\"", "-F",
        "data=@\"ü \\\"q\\\".txt\";filename=\"a\nb.bin\";type=image/png", server.url.absoluteString,
      ], in: folder.url)
    var form = MultipartForm()
    form.append("Sonne", for: "title")
    form.append("v", for: "na\"me\r\nx")
    form.append(.file(folder.file("ü \"q\".txt")), for: "photo")
    form.append(.file(folder.file("ü \"q\".txt")), for: "data", fileName: "a\nb.bin", contentType: .png)

    _ = try await session.data(for: HTTPRequest(.post, server.url, body: .multipart(form)))

    let bodies = try server.requests.map { request in
      let boundary = try #require(request.fields.mediaType?.parameters["boundary"])
      return request.text.replacingOccurrences(of: boundary, with: "B")
    }
    #expect(bodies.count == 2)
    #expect(bodies[0] == bodies[1])
  }

  private func digest(of file: String) throws -> String {
    try RealProcess.run("sh", ["-c", "sha256sum \(file) | cut -c 1-64 > digest"], in: folder.url)
    return try String(contentsOf: folder.file("digest"), encoding: .utf8).trimmingCharacters(
      in: .whitespacesAndNewlines)
  }
}
