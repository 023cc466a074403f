import Martlet
@_spi(Toolkit) import MartletEngine
import MartletImages
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Image loader", .timeLimit(.minutes(5)))
struct ImageLoaderTests {
  @Test func urlRequestAndImageRequestLoadAnImage() async throws {
    let fixture = try LoadingFixture { _ in try .picture("coffee.jpg") }
    let url = fixture.server.url("/a.jpg")

    let image = try await fixture.loader.image(for: url)
    _ = try await fixture.loader.image(for: HTTPRequest(.get, fixture.server.url("/b.jpg")))
    _ = try await fixture.loader.image(for: fixture.picture("/c.jpg"))

    #expect(image.bitmap.size == PixelSize(width: 600, height: 400))
    #expect(image.info?.format == .jpeg)
    #expect(image.encodedBytes == 68531)
    #expect(image.source == .session(.network))
    #expect(fixture.server.requests.map(\.path) == ["/a.jpg", "/b.jpg", "/c.jpg"])
  }

  @Test func secondLoadComesFromMemory() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }

    _ = try await fixture.loader.image(for: fixture.picture())
    let again = try await fixture.loader.image(for: fixture.picture())

    #expect(again.source == .memory)
    #expect(again.info?.size == PixelSize(width: 40, height: 30))
    #expect(fixture.server.requests.count == 1)
    #expect(fixture.loader.cachedImage(for: fixture.picture())?.bitmap == again.bitmap)
  }

  @Test(arguments: [
    (ImageRequest.ContentMode.fit, 60, 60, 60, 40), (.fill, 60, 60, 90, 60), (.fit, 900, 900, 600, 400),
    (.fill, 900, 900, 600, 400), (.fill, 900, 40, 600, 400), (.fill, 1, 1, 2, 1), (.fit, 0, -5, 1, 1),
  ])
  func imageIsScaledDownForItsBoxAndNeverEnlarged(
    mode: ImageRequest.ContentMode, width: Int, height: Int, wantedWidth: Int, wantedHeight: Int
  ) async throws {
    let fixture = try LoadingFixture { _ in try .picture("coffee.jpg") }
    var request = fixture.picture()
    request.targetSize = PixelSize(width: width, height: height)
    request.contentMode = mode

    let image = try await fixture.loader.image(for: request)

    #expect(image.bitmap.size == PixelSize(width: wantedWidth, height: wantedHeight))
    #expect(image.info?.size == PixelSize(width: 600, height: 400))
  }

  @Test func processorsRunInOrderAndArePartOfTheKey() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    var request = fixture.picture()
    request.processors = [Cut(width: 20), Cut(width: 10)]

    let cut = try await fixture.loader.image(for: request)
    let whole = try await fixture.loader.image(for: fixture.picture())

    #expect(cut.bitmap.size == PixelSize(width: 10, height: 30))
    #expect(whole.bitmap.size == PixelSize(width: 40, height: 30))
    #expect(fixture.loader.key(for: request) != fixture.loader.key(for: fixture.picture()))
    #expect(fixture.loader.key(for: request).description.hasSuffix("/a.jpg, cut 20, cut 10"))
  }

  @Test func framesOfAnAnimationAreDecodedOnRequest() async throws {
    let fixture = try LoadingFixture { _ in try .picture("animated.webp") }
    var request = fixture.picture()
    request.isAnimated = true
    request.processors = [Cut(width: 5)]

    let moving = try await fixture.loader.image(for: request)
    let still = try await fixture.loader.image(for: fixture.picture())

    let frames = try #require(moving.animation?.frames)
    #expect(frames.count > 1)
    #expect(frames.allSatisfy { $0.bitmap.size.width == 5 })
    #expect(moving.bitmap == frames[0].bitmap)
    #expect(still.animation == nil)
    #expect(fixture.loader.configuration.cache?.byteCount == moving.pixelBytes + still.bitmap.pixels.count)
  }

  @Test func additionalFormatsAreLoaded() async throws {
    let format = AdditionalFormat(ImageFormat(rawValue: "DOT"), recognizes: { $0.starts(with: Data("DOT".utf8)) }) {
      _, _ in Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255])
    }
    let fixture = try LoadingFixture {
      $0.decoding.additionalFormats = [format]
    } respond: { _ in
      .data(Data("DOT and some bytes more".utf8))
    }

    let image = try await fixture.loader.image(for: fixture.picture())

    #expect(image.bitmap.pixels == [1, 2, 3, 255])
    #expect(image.info?.format.rawValue == "DOT")
  }

  @Test func additionalFormatIsNotDecodedBeforeItsFileIsComplete() async throws {
    let gate = Gate()
    let lengths = Journal<Int>()
    let format = AdditionalFormat(ImageFormat(rawValue: "DOT"), recognizes: { $0.starts(with: Data("DOT".utf8)) }) {
      data, _ in
      lengths.append(data.count)
      return Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255])
    }
    let fixture = try LoadingFixture {
      $0.decoding.additionalFormats = [format]
    } respond: { _ in
      .data(Data("DOT and some bytes more".utf8)).stalled(after: 20, until: gate)
    }
    for await phase in fixture.loader.phases(for: fixture.picture()) where phase.name == "loading 20 of 23" {
      gate.open()
    }

    #expect(Set(lengths.entries) == [23])
  }

  @Test func headerThatArrivesInManyPiecesIsReadAFewTimes() async throws {
    let readings = Counter()
    var configuration = ImageLoader.Configuration()
    let other = AdditionalFormat(
      ImageFormat(rawValue: "other"), recognizes: { _ in readings.next() < 0 },
      decode: { _, _ in Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255]) })
    configuration.decoding.additionalFormats = [other]
    // A comment of 2000 bytes (ITU-T T.81 §B.2.4.5) precedes the size.
    let comment = [0xFF, 0xFE, 0x07, 0xD0] + [UInt8](repeating: 32, count: 1998)
    let picture = try Fixture.data("baseline.jpg")
    let file: Data = picture.prefix(2) + Data(comment) + picture.dropFirst(2)
    let transport = MockTransport { _ in MockResponse { ResponseBody(from: SingleBytes(file)) } }
    let session = HTTPSession(transport: transport, configuration: SessionConfiguration(cookies: nil, cache: nil))
    let loader = ImageLoader(session: session, configuration: configuration)

    let image = try await loader.image(for: url("http://a.example/a.jpg"))

    #expect(image.bitmap.size == PixelSize(width: 40, height: 30))
    #expect(image.encodedBytes == file.count)
    #expect(readings.value < 20)
  }

  @Test func throwingProcessorIsNamedInTheError() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    var request = fixture.picture()
    request.processors = [Cut(width: 41)]

    let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: request) }

    #expect(error?.kind == .processing)
    #expect(error?.message.contains("cut 41") == true)
    _ = try await fixture.loader.image(for: fixture.picture())
  }

  @Test func credentialsAndPartitionsArePartOfTheKeyAndNotShown() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    var anna = fixture.picture("/a.jpg?token=secret")
    anna.http.fields[.authorization] = "Bearer anna"
    var ben = fixture.picture("/a.jpg?token=secret")
    ben.http.options.partition = "ben"

    for request in [anna, ben, fixture.picture("/a.jpg?token=secret")] {
      _ = try await fixture.loader.image(for: request)
    }

    #expect(fixture.server.requests.count == 3)
    var shown = "\(fixture.loader.key(for: anna))\(String(reflecting: fixture.loader.key(for: anna)))"
    dump(fixture.loader.key(for: anna), to: &shown)
    #expect(!shown.contains("anna") && !shown.contains("secret"))
  }

  @Test func otherRequestsThanPlainGETsAreSentEachTimeAndNotCached() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    let request = HTTPRequest(.post, fixture.server.url("/render"), body: .data(Data("chart".utf8)))

    for _ in 0..<2 { _ = try await fixture.loader.image(for: request) }

    #expect(fixture.server.requests.map(\.text) == ["chart", "chart"])
    #expect(fixture.loader.configuration.cache?.count == 0)
  }

  @Test func loadsObserveTheConcurrencyLimitOfTheirSession() async throws {
    let (gate, queued) = (Gate(), Counter())
    var limits = OriginLimits()
    limits.concurrency = ConcurrencyLimit(1, waitLimit: nil)
    let listener = EventHandler { event, _ in
      if case .limit(.queued) = event { _ = queued.next() }
    }
    let fixture = try LoadingFixture(limits: limits, listeners: [listener]) { _ in try .picture().held(by: gate) }

    let loads = (1...3).map { fixture.begin(fixture.picture("/\($0).jpg")) }

    _ = try await fixture.server.request(1)
    try await until { queued.value == 2 || fixture.server.requests.count > 1 }
    #expect(fixture.server.requests.count == 1)
    gate.open()
    for load in loads { #expect(try await load.value.bitmap.size.width == 40) }
    #expect(fixture.server.requests.count == 3)
  }

  @Test func statisticsCountImagesBySource() async throws {
    let fixture = try LoadingFixture { request in
      request.path == "/a.jpg" ? try .picture() : .status(.notFound)
    }

    for _ in 0..<3 { _ = try await fixture.loader.image(for: fixture.picture()) }
    for _ in 0..<2 { _ = try? await fixture.loader.image(for: fixture.picture("/missing")) }

    let statistics = fixture.loader.statistics
    #expect(statistics[.session(.network)].count == 1)
    #expect(statistics[.session(.network)].bytes == 864)
    #expect(statistics[.session(.network)].time > .zero)
    #expect(statistics[.memory].count == 2)
    #expect(statistics[.memory].bytes == 2 * 864)
    #expect(statistics.failures == 1)
    #expect(statistics.rememberedFailures == 1)
  }
}

/// Crops the right side.
struct Cut: ImageProcessor {
  struct TooNarrow: Error {}
  let width: Int

  var identifier: String { "cut \(width)" }

  func process(_ image: Bitmap) throws -> Bitmap {
    guard image.size.width >= width else { throw TooNarrow() }
    let rows = (0..<image.size.height).map { image.pixels[($0 * image.bytesPerRow)...].prefix(width * 4) }
    return Bitmap(size: PixelSize(width: width, height: image.size.height), pixels: Array(rows.joined()))
  }
}

/// A body in pieces of one byte.
private final class SingleBytes: BodySource {
  private let rest: Mutex<Data>

  init(_ data: Data) { rest = Mutex(data) }

  func next() async throws -> Data? {
    rest.withLock { rest in
      guard let byte = rest.popFirst() else { return nil }
      return Data([byte])
    }
  }
}
