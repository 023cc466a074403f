@testable import MartletCommandLine
import MartletEngine
import MartletImages
import MartletSemantics
import MartletTesting
import Testing

@Suite("Images on the command line", .timeLimit(.minutes(5)))
struct ImageTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private func server(_ data: Data, type: String) throws -> LoopbackServer {
    try LoopbackServer { _ in .data(data, type: type) }
  }

  private func png(_ size: PixelSize, _ pixels: [UInt8]) throws -> Data {
    try ImageEncoder.encode(Bitmap(size: size, pixels: pixels), as: .png)
  }

  @Test func anImageIsDrawnInItsColors() async throws {
    let size = PixelSize(width: 2, height: 2)
    let image = try png(size, [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255])
    let server = try server(image, type: "image/png")

    let result = try await run("get", ":\(server.port)/", "--image", "--body", isTerminal: true)

    #expect(result.code == .success)
    #expect(
      result.text
        == "\u{1B}[38;2;255;0;0m\u{1B}[48;2;0;0;255m▀\u{1B}[38;2;0;255;0m\u{1B}[48;2;255;255;255m▀\u{1B}[0m\n")
  }

  @Test func aLargeImageIsAsLargeAsTheTerminalWithoutTheLineOfThePrompt() async throws {
    let image = try png(
      PixelSize(width: 400, height: 400), Array(repeating: [10, 20, 30, 255], count: 160_000).flatMap(\.self))
    let server = try server(image, type: "image/png")

    let lines = try await run("get", ":\(server.port)/", "--image").text.split(separator: "\n")

    #expect(lines.count == 23)
    #expect(lines.allSatisfy { $0.count { $0 == "▀" } == 46 })
  }

  @Test func aBodyThatIsNoImageIsAnErrorThatSaysWhatItIs() async throws {
    let server = try server(Data("<!doctype html><p>log in</p>".utf8), type: "text/html")

    let result = try await run("get", ":\(server.port)/", "--image")

    #expect(result.code == .failure)
    #expect(result.text.isEmpty)
    #expect(result.errors.text.contains("the body cannot be drawn: "))
    #expect(result.errors.text.contains("HTML"))
    #expect(result.errors.text.contains("without --image the body is shown as it is"))
    #expect(!result.errors.text.contains("log in"))
  }

  @Test(arguments: ["--output=file", "--download"])
  func anImageIsEitherDrawnOrWritten(option: String) async throws {
    let result = try await run("get", ":1/", "--image", option)

    #expect(result.code == .failure)
    #expect(result.errors.text.contains("--image and --"))
  }
}
