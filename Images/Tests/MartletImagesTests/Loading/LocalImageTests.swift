import Martlet
import MartletImages
import MartletTesting
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite("Images in data: and file: URLs", .timeLimit(.minutes(5)))
struct LocalImageTests {
  private let loader = ImageLoader(session: HTTPSession(transport: MockTransport { _ in .status(.notFound) }))

  private func dataURL(_ text: String) throws -> URL { try #require(URL(string: "data:" + text)) }

  private func pixelURL() throws -> URL {
    try dataURL("image/png;base64," + Fixture.data("rgba.png").base64EncodedString())
  }

  /// Calls `body` with an empty folder.
  private func inFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "local-images-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  @Test func imageInADataURLIsDecodedAndCached() async throws {
    let url = try pixelURL()

    let image = try await loader.image(for: url)
    let small = try await loader.image(for: ImageRequest(url, targetSize: PixelSize(width: 10, height: 10)))

    #expect(try image.bitmap == ImageDecoder.decode(Fixture.data("rgba.png")))
    #expect(image.source == .inline)
    #expect(small.bitmap.size.width == 10)
    #expect(try await loader.image(for: url).source == .memory)
    #expect(loader.configuration.cache?[url]?.bitmap == image.bitmap)
    #expect(loader.statistics[.inline].count == 2)
  }

  /// RFC 2397, and what browsers accept.
  @Test func dataURLsMayHaveOtherForms() async throws {
    let gif = try Fixture.data("size-1x1.gif")
    let base64 = gif.base64EncodedString()
    let escaped = gif.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let forms = [
      ";base64," + base64, "text/plain;charset=utf-8;BASE64," + base64, ";base64," + base64.filter { $0 != "=" },
      ";base64," + base64.prefix(8) + "%0A%20" + base64.dropFirst(8), "image/gif," + escaped,
      ";base64,\(base64)#part",
    ]

    for form in forms { #expect(try await loader.image(for: dataURL(form)).info?.format == .gif) }
    let upper = try #require(URL(string: "DATA:;base64," + base64))
    #expect(try await loader.image(for: upper).source == .inline)
  }

  static let bad: [(String, ImageLoadError.Kind)] = [
    ("image/png;base64", .unreadable), (";base64,*secret*", .unreadable), (",", .empty), (",secret", .notAnImage),
    (";base64," + String(repeating: "secret00", count: 100_000), .notAnImage),
    (";base64," + String(repeating: "secret*0", count: 100_000), .unreadable),
    ("image/png,%89PNG%0D%0A%1A%0Asecret", .undecodable),
  ]

  @Test(arguments: bad.indices) func errorOfABadDataURLDoesNotRepeatIt(_ index: Int) async throws {
    let url = try dataURL(Self.bad[index].0)

    let error = await #expect(throws: ImageLoadError.self) { try await loader.image(for: url) }

    let failure = try #require(error)
    #expect(failure.kind == Self.bad[index].1)
    #expect(failure.url == nil)
    for text in ["\(failure)", failure.message, String(reflecting: failure), failure.errorDescription ?? ""] {
      #expect(text.count < 300 && !text.contains("secret"))
    }
    var dumped = ""
    dump(failure, to: &dumped)
    dump(loader.key(for: ImageRequest(url)), to: &dumped)
    #expect(dumped.count < 3000 && !dumped.contains("secret"))
  }

  @Test func dataURLAboveTheLimitIsNotDecoded() async throws {
    var configuration = ImageLoader.Configuration()
    configuration.encodedBytesLimit = 1000
    let loader = ImageLoader(session: HTTPSession(), configuration: configuration)

    let error = await #expect(throws: ImageLoadError.self) {
      try await loader.image(for: dataURL(";base64," + String(repeating: "A", count: 2000)))
    }

    #expect(error?.kind == .tooLarge)
  }

  @Test func imageInAFileIsDecodedAndCached() async throws {
    try await inFolder { folder in
      let url = folder.appending(path: "a b.jpg")
      try Fixture.data("coffee.jpg").write(to: url)

      let image = try await loader.image(for: ImageRequest(url, targetSize: PixelSize(width: 60, height: 60)))

      #expect(image.bitmap.size == PixelSize(width: 60, height: 40))
      #expect(image.source == .file)
      #expect(try await loader.image(for: url).bitmap.size.width == 600)
      #expect(try await loader.image(for: url).source == .memory)
    }
  }

  @Test func fileThatIsNoPictureOnThisMachineIsAnError() async throws {
    try await inFolder { folder in
      let pipe = folder.appending(path: "pipe")
      #expect(mkfifo(pipe.path, 0o600) == 0)
      try Data("hello".utf8).write(to: folder.appending(path: "text"))
      try Data().write(to: folder.appending(path: "empty"))
      let rows: [(URL, ImageLoadError.Kind)] = [
        (folder.appending(path: "missing"), .unreadable), (folder, .unreadable), (pipe, .unreadable),
        (URL(filePath: "/dev/zero"), .unreadable), (folder.appending(path: "text"), .notAnImage),
        (folder.appending(path: "empty"), .empty), (try #require(URL(string: "file://other/a.jpg")), .unreadable),
      ]

      for (url, kind) in rows {
        let error = await #expect(throws: ImageLoadError.self) { try await loader.image(for: url) }
        #expect(error?.kind == kind, "\(url)")
        #expect(error?.url == url)
      }
    }
  }

  @Test func fileAboveTheLimitIsNotRead() async throws {
    var configuration = ImageLoader.Configuration()
    configuration.encodedBytesLimit = 100_000
    let loader = ImageLoader(session: HTTPSession(), configuration: configuration)
    try await inFolder { folder in
      let url = folder.appending(path: "large")
      try Data(count: 1_000_000).write(to: url)

      let error = await #expect(throws: ImageLoadError.self) { try await loader.image(for: url) }

      #expect(error?.kind == .tooLarge)
    }
  }

  @Test func serverCannotRedirectToAFile() async throws {
    try await inFolder { folder in
      let file = folder.appending(path: "a.jpg")
      try Fixture.data("baseline.jpg").write(to: file)
      let fixture = try LoadingFixture { _ in .status(.found, fields: [.location: file.absoluteString]) }

      let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }

      #expect(error?.kind == .network || error?.kind == .status)
    }
  }

  @Test func tolerantLoaderShowsAnIncompleteFileWithItsDefect() async throws {
    let fixture = try LoadingFixture {
      $0.decoding.isTolerant = true
    } respond: { request in
      let data = try Fixture.data("coffee.jpg")
      return .data(request.path == "/whole" ? data : data.prefix(30_000), type: "image/jpeg")
    }

    let cut = try await fixture.loader.image(for: fixture.picture("/cut"))

    #expect(cut.defect?.kind == .truncated)
    #expect(cut.bitmap.size.width == 600)
    #expect(try await fixture.loader.image(for: fixture.picture("/whole")).defect == nil)
  }
}
