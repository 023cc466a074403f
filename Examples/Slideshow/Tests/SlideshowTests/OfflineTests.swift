import Martlet
import MartletImages
import MartletTesting
import SlideshowLaunch
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite("The slideshow without its service", .timeLimit(.minutes(5)))
struct OfflineTests {
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "slideshow-\(UInt64.random(in: 0 ... .max))")

  @Test func whatWasShownOnceIsShownAgainAndSaysFromWhere() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "cache.sqlite")
    let service = try DemoService()
    let configuration = try SlideshowConfiguration { key in
      (key == .service ? service.service : service.imageBase).absoluteString
    }
    let first = try await lines(configuration, file)
    service.stop()
    defer { withExtendedLifetime(service) {} }  // its port stays its own

    // Another run: only the file remains.
    let second = try await lines(configuration, file)

    let shown = first.filter { $0.contains("bytes  ") }
    #expect(shown.count > 3)
    #expect(shown.allSatisfy { $0.hasSuffix("network") })
    let again = second.filter { $0.contains("bytes  ") }
    #expect(again.count == shown.count)
    #expect(again.allSatisfy { $0.hasSuffix("offline") || $0.hasSuffix("cache") })
  }

  @Test func withoutAnythingKeptTheServiceIsSaidToBeDown() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let service = try DemoService()
    let configuration = try SlideshowConfiguration { key in
      (key == .service ? service.service : service.imageBase).absoluteString
    }
    service.stop()
    defer { withExtendedLifetime(service) {} }  // its port stays its own

    await #expect {
      _ = try await lines(configuration, folder.appending(path: "cache.sqlite"))
    } throws: { error in
      if case .serviceDown? = error as? SlideshowError { true } else { false }
    }
  }

  @Test func aCacheThatCannotBeOpenedCostsAWarningOnly() {
    let warnings = Journal<Explanation>()
    let cache = HTTPCache.slideshow(in: URL(filePath: "/dev/null/cache.sqlite")) { warnings.append($0) }

    #expect(warnings.entries.first?.sentence.contains("only until the program ends") == true)
    #expect(cache.store is MemoryCacheStore)
  }

  @Test func aDamagedCacheIsSetAsideAndThatIsTold() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "cache.sqlite")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // It begins as a database does; any other file would be left as it is.
    try Data("SQLite format 3\0\(String(repeating: "x", count: 300))".utf8).write(to: file)
    let warnings = Journal<Explanation>()

    let cache = HTTPCache.slideshow(in: file) { warnings.append($0) }

    #expect(!(cache.store is MemoryCacheStore))
    #expect(warnings.entries.count == 1)
    let warning = try #require(warnings.entries.first)
    #expect(warning.sentence.contains("set aside"))
    #expect(!warning.description.contains("\n"))
  }

  @Test func thePortOfTheDemoIsRemembered() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = StateStore(file: folder.appending(path: "state.json"), name: "demo")
    #expect(try store.demoPort == nil)

    #expect(store.save(demoPort: 4711) == nil)

    #expect(try store.demoPort == 4711)
    #expect(DemoService.Addresses(port: 4711)?.service.absoluteString == "http://127.0.0.1:4711/holidayslideshow.json")
    #expect(DemoService.Addresses(port: 0) == nil)
  }

  @Test(arguments: [
    ("", "the demo was never shown here"), (#"{"slideshows": {}}"#, "the demo was never shown here"),
    ("{ damaged", "/state.json' cannot be read"),
  ])
  func whyTheDemoCannotBeShownIsTold(content: String, part: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "state.json")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if !content.isEmpty { try Data(content.utf8).write(to: file) }
    let options = try CommandLineOptions(["--offline", "--state", file.path])

    let error = #expect(throws: CommandLineOptions.Mistake.self) { _ = try Launch(options, environment: [:]) }

    #expect(error?.description.contains(part) == true)
  }

  private func lines(_ configuration: SlideshowConfiguration, _ file: URL) async throws -> [String] {
    let cache = HTTPCache.slideshow(in: file) { Issue.record("unexpected warning: \($0)") }
    let client = SlideshowClient(configuration, session: .slideshow(cache: cache), cache: ImageCache())
    var lines: [String] = []
    try await SlideList.run(client: client, kept: KeptState()) { lines.append($0) }
    return lines
  }
}
