import CallDoubles
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MultipartFormTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func file(_ name: String, _ content: Data) throws -> URL { try folder.write(content, to: name) }

  private func text(_ body: RequestBody) async throws -> (text: String, length: Int64?) {
    let open = try await body.open()
    var data = Data()
    while let chunk = try await open.source.next() { data.append(chunk) }
    if let length = open.length { #expect(length == Int64(data.count)) }
    let boundary = try #require(body.fields.mediaType?.parameters["boundary"])
    return (String(decoding: data, as: UTF8.self).replacingOccurrences(of: boundary, with: "B"), open.length)
  }

  @Test func aFormMayHaveItsOwnBoundary() async throws {
    var form = MultipartForm()
    form.append("Sonne", for: "title")
    form.boundary = "xo:xo"
    let body = RequestBody.multipart(form)
    #expect(body.fields[.contentType] == #"multipart/form-data; boundary="xo:xo""#)
    #expect(body.bytes.map { String(decoding: $0, as: UTF8.self) }?.hasPrefix("--xo:xo\r\n") == true)
    #expect(body.bytes.map { String(decoding: $0, as: UTF8.self) }?.hasSuffix("\r\n--xo:xo--\r\n") == true)
  }

  @Test(arguments: ["", "ends with ", "a\r\nb", "ü", String(repeating: "a", count: 71), "onn"])
  func aBoundaryThatCannotBeIsRefusedWhenTheFormIsSent(boundary: String) async throws {
    var form = MultipartForm()
    form.append("Sonne", for: "title")
    form.boundary = boundary
    let error = await #expect(throws: HTTPError.self) { try await RequestBody.multipart(form).open() }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("boundary") == true)
  }

  @Test func partsAreWrittenInOrderAndMeasured() async throws {
    var form = MultipartForm()
    form.append("Sonne", for: "title")
    form.append(.file(try file("a \"b\".png", Data("PNG".utf8))), for: "photo")
    form.append(try .json([1]), for: "list")
    form.append(.data(Data("x".utf8)), for: "title", fileName: "x")
    form.append(
      .stream(length: 2) {
        AsyncStream {
          $0.yield(Data("st".utf8)); $0.finish()
        }
      }, for: "stream")
    let body = RequestBody.multipart(form)

    for _ in 1...2 {  // each attempt reads everything anew
      let (text, length) = try await text(body)
      #expect(length != nil)
      #expect(
        text.split(separator: "\r\n", omittingEmptySubsequences: false) == [
          "--B", #"Content-Disposition: form-data; name="title""#, "", "Sonne",
          "--B", #"Content-Disposition: form-data; name="photo"; filename="a %22b%22.png""#, "Content-Type: image/png",
          "", "PNG",
          "--B", #"Content-Disposition: form-data; name="list""#, "Content-Type: application/json", "", "[1]",
          "--B", #"Content-Disposition: form-data; name="title"; filename="x""#,
          "Content-Type: application/octet-stream", "", "x",
          "--B", #"Content-Disposition: form-data; name="stream""#, "", "st",
          "--B--", "",
        ])
    }
    #expect(body.isReplayable)
    #expect(body.fields.mediaType?.essence == "multipart/form-data")
  }

  @Test func formWithoutPartsIsItsEnd() async throws {
    #expect(try await text(.multipart(MultipartForm())).text == "--B--\r\n")
  }

  @Test func streamOfUnknownLengthMakesTheLengthUnknown() async throws {
    var form = MultipartForm()
    form.append(
      .singleUse(
        AsyncStream {
          $0.yield(Data("once".utf8)); $0.finish()
        }), for: "s")
    let body = RequestBody.multipart(form)

    let (text, length) = try await text(body)

    #expect(length == nil && body.length == nil)
    #expect(text.contains("\r\n\r\nonce\r\n--B--"))
    #expect(!body.isReplayable && !body.canBeSent)
  }

  @Test func formWithinAFormIsSentWithItsFiles() async throws {
    var inner = MultipartForm()
    inner.append(.file(try file("a.txt", Data("inner".utf8))), for: "file")
    var outer = MultipartForm()
    outer.append(.multipart(inner), for: "form")

    #expect(try await text(.multipart(outer)).text.contains("\r\n\r\ninner\r\n--"))
  }

  @Test func missingFileIsNamedBeforeAnythingIsSent() async throws {
    var form = MultipartForm()
    form.append("a", for: "a")
    form.append(.file(folder.file("missing.txt")), for: "file")
    let transport = MockTransport { request in
      _ = try await request.readBody()
      return .text("sent")
    }

    let body = RequestBody.multipart(form)
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession(transport: transport).data(for: HTTPRequest(.post, origin, body: body))
    }

    #expect(error?.kind == .file)
    #expect(error?.message.contains("missing.txt") == true)
    #expect(error?.isUnsent == true)
  }

  @Test func fileThatVanishesWhileTheFormIsSentIsAnErrorOfASentRequest() async throws {
    let second = try file("second.txt", Data("two".utf8))
    var form = MultipartForm()
    form.append(.file(try file("first.txt", Data("one".utf8))), for: "first")
    let vanishing = RequestBody.stream { () -> AsyncStream<Data> in
      try FileManager.default.removeItem(at: second)
      return AsyncStream { $0.finish() }
    }
    form.append(vanishing, for: "vanishing")
    form.append(.file(second), for: "second")
    let transport = MockTransport { request in
      _ = try await request.readBody()
      return .text("sent")
    }

    let body = RequestBody.multipart(form)
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession(transport: transport).data(for: HTTPRequest(.post, origin, body: body))
    }

    #expect(error?.kind == .file)
    #expect(error?.message.contains("second.txt") == true)
    #expect(error?.phase == .sending)
    #expect(error?.isUnsent == false)
  }

  @Test func fileThatGrowsWhileTheFormIsSentIsAnError() async throws {
    let growing = try file("log.txt", Data("one".utf8))
    var form = MultipartForm()
    form.append(.file(growing), for: "log")
    let open = try await RequestBody.multipart(form).open()
    #expect(try await open.source.next() != nil)
    try Data("one two".utf8).write(to: growing)

    let error = await #expect(throws: HTTPError.self) { _ = try await open.source.next() }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("'log'") == true)
  }

  @Test func largeFileIsReadInPieces() async throws {
    let large = folder.file("large")
    #expect(FileManager.default.createFile(atPath: large.path, contents: nil))
    let handle = try FileHandle(forWritingTo: large)
    try handle.truncate(atOffset: 1 << 30)  // a hole: no disk, no memory
    try handle.close()
    var form = MultipartForm()
    form.append(.file(large), for: "large")
    let open = try await RequestBody.multipart(form).open()

    #expect(try #require(open.length) > 1 << 30)
    _ = try await open.source.next()
    #expect(try #require(await open.source.next()).count <= 1 << 20)
  }

  @Test func whatAPartCannotHaveIsRefused() async throws {
    var compressed = MultipartForm()
    compressed.append(.data(Data("a".utf8)).compressed(), for: "a")
    var smuggling = MultipartForm()
    var type: MediaType = "text/plain"
    type.parameters["x"] = "a\r\nContent-Type: b"
    smuggling.append(.data(Data("a".utf8)), for: "a", contentType: type)

    for form in [compressed, smuggling] {
      let error = await #expect(throws: HTTPError.self) { _ = try await RequestBody.multipart(form).open() }
      #expect(error?.kind == .invalidRequest)
    }
  }
}
