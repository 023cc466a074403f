@_spi(Toolkit) import MartletEngine
import MartletTesting
import TestSupport
import Testing

@testable import MartletImages

@Suite("Decoding that is abandoned", .timeLimit(.minutes(5)))
struct AbandonmentTests {
  /// Files of all codecs, and how often their codecs ask at least whether to go on.
  static let files = [
    ("coffee.jpg", 100), ("baseline.jpg", 2), ("cameraman.png", 100), ("interlaced.png", 100), ("chelsea.webp", 1),
    ("one87.gif", 2), ("interlaced.gif", 2),
  ]

  @Test(arguments: files) func codecEndsSoonAfterItsCallerHasLeft(_ name: String, questions: Int) throws {
    let data = try Fixture.data(name)
    for limit in [0, questions - 1] {
      var asked = 0
      let decoding = Decoding(ImageDecoder.Options()) {
        asked += 1
        return asked > limit
      }

      let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data, .init(), in: decoding) }

      #expect(error?.kind == .cancelled)
      #expect(asked == limit + 1)
    }
  }

  @Test(arguments: ["animated.webp", "parts.gif", "animated.png"])
  func animationEndsBetweenItsFrames(_ name: String) throws {
    let data = try Fixture.data(name)
    var frames = 0
    var options = ImageDecoder.Options()
    options.isTolerant = true  // Leaving is no defect of the file.
    func decode(frames limit: Int) -> ImageError? {
      frames = 0
      let decoding = Decoding(options) { frames >= limit }
      return #expect(throws: ImageError.self) {
        try ImageDecoder.forEachFrame(of: data, options, in: decoding) { _ throws(ImageError) in
          frames += 1
          return true
        }
      }
    }

    #expect(decode(frames: 0)?.kind == .cancelled)
    #expect(frames == 0)
    #expect(decode(frames: 1)?.kind == .cancelled)
    #expect(frames == 1)
  }

  @Test func cancelledTaskDecodesNothing() async throws {
    let data = try Fixture.data("coffee.jpg")

    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try ImageDecoder.decode(data)
    }

    let error = await #expect(throws: ImageError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
  }

  @Test func workOfALoadThatIsCancelledCanNoticeIt() async throws {
    let executor = DecodingExecutor(ImageLoader.Configuration())
    let (begun, ended) = (Gate(), Gate())
    let task = Task {
      try await executor.run(PriorityBox(0)) { isAbandoned in
        begun.open()
        while !isAbandoned() {}
        ended.open()
      }
    }
    try await begun.wait()

    task.cancel()

    try await ended.wait()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
