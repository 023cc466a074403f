import Martlet
import MartletImages
import MartletTesting
import TestSupport
import Testing

/// The smallest and the largest values of public settings of images, which are legal, stop nothing.
@Suite(.timeLimit(.minutes(5)))
struct ExtremeConfigurationTests {
  struct Setup {
    var configuration = ImageLoader.Configuration()
    var request = ImageRequest(URL(filePath: "/"))
    /// The sides of a size.
    var size = PixelSize(width: 10, height: 10)
    var radius = 1
  }

  typealias Row = ExtremeSetting<Setup>

  static let rows = [
    Row("concurrentLoads") { $0.configuration.concurrentLoads = $1 },
    Row("concurrentLoadsPerOrigin") { $0.configuration.concurrentLoadsPerOrigin = $1 },
    Row("concurrentDecodes") { $0.configuration.concurrentDecodes = $1 },
    Row("encodedBytesLimit") { $0.configuration.encodedBytesLimit = $1 },
    Row("previewLimit") { $0.configuration.previewLimit = $1 },
    Row("decoding.limits.pixels") { $0.configuration.decoding.limits.pixels = $1 },
    Row("decoding.limits.bytes") { $0.configuration.decoding.limits.bytes = $1 },
    Row("decoding.limits.animationPixels") { $0.configuration.decoding.limits.animationPixels = $1 },
    Row("decoding.limits.sourcePixels") { $0.configuration.decoding.limits.sourcePixels = $1 },
    Row("decoding.limits.codecBytes") { $0.configuration.decoding.limits.codecBytes = $1 },
    Row("cache.byteLimit") { $0.configuration.cache = ImageCache(byteLimit: $1) },
    Row("cache.countLimit") { $0.configuration.cache = ImageCache(countLimit: $1) },
    Row("width") { $0.size.width = $1 },
    Row("height") { $0.size.height = $1 },
    Row("radius") { $0.radius = $1 },
    Row(time: "decodeTimeout") { $0.configuration.decodeTimeout = $1 },
    Row(time: "memoryAge") { $0.configuration.memoryAge = $1 },
    Row(time: "failureAge") { $0.configuration.failureAge = $1 },
  ]

  @Test(arguments: rows) func anExtremeSettingStopsNothing(_ row: Row) async throws {
    let server = try LoopbackServer { request in
      request.path == "/none" ? .status(.notFound) : try .picture()
    }
    for change in row.changes {
      var setup = Setup()
      change(&setup)
      let loader = ImageLoader(session: HTTPSession(), configuration: setup.configuration)
      for mode in [ImageRequest.ContentMode.fit, .fill] {
        var request = ImageRequest(server.url("/a.jpg"), targetSize: setup.size)
        request.contentMode = mode
        request.processors = [ImageProcessors.RoundedCorners(radius: setup.radius)]
        _ = try? await loader.image(for: request)
      }
      for _ in 0..<2 { _ = try? await loader.image(for: server.url("/none")) }
    }
  }

  @Test(arguments: [Int.max, .min, 0, -1, 1]) func anExtremeSizeStopsNoProcessor(_ side: Int) throws {
    let bitmap = try ImageDecoder.decode(
      Fixture.data("coffee.jpg"), options: .init(fitting: .init(width: 9, height: 9)))
    for size in [PixelSize(width: side, height: 5), .init(width: 5, height: side), .init(width: side, height: side)] {
      for mode in [ImageProcessors.Resize.Mode.fit, .fill] {
        _ = try? ImageProcessors.Resize(width: size.width, height: size.height, mode: mode, enlarges: true)
          .process(bitmap)
        _ = try? ImageProcessors.Resize(width: size.width, height: size.height, mode: mode).process(bitmap)
      }
      _ = ImageProcessors.Crop(width: size.width, height: size.height).process(bitmap)
      _ = ImageProcessors.RoundedCorners(radius: side).process(bitmap)
      _ = ImageProcessors.Blur(radius: side).process(bitmap)
      _ = HalfBlocks.lines(of: bitmap, columns: size.width, rows: size.height)
      _ = HalfBlocks.lines(of: bitmap, in: size)
      _ = try? ImageDecoder.decode(Fixture.data("coffee.jpg"), options: .init(fitting: size))
    }
    ImageCache(byteLimit: side, countLimit: side).trim(to: side)
  }
}
