import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ProgramTests {
  @Test func theListHasALineForEachSlideAndASummary() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    var lines: [String] = []

    try await SlideList.run(client: client, kept: KeptState()) { lines.append($0) }

    #expect(lines.count == 9)
    #expect(lines[1] == "♡ 10  Ready for the journey  512×512  68052 bytes  network")
    #expect(lines[4].contains("missing: status 404"))
    #expect(lines[8].hasPrefix("7 slides, 6 pictures, 1 missing, 937699 bytes"))
  }

  @Test func theDemoServiceAnswersAsAStaticServer() async throws {
    let demo = try DemoService()
    let session = HTTPSession.slideshow()
    let url = demo.imageBase.appending(path: "coffee.jpg")

    let (_, head) = try await session.data(for: HTTPRequest(.head, url))
    let tag = try #require(head.fields[.eTag])
    let (part, ranged) = try await session.data(for: HTTPRequest(.get, url, fields: [.range: "bytes=0-1"]))
    let (_, unchanged) = try await session.data(for: HTTPRequest(.get, url, fields: [.ifNoneMatch: tag]))

    #expect(head.fields[.contentLength] == "68531")
    #expect(ranged.status == 206)
    #expect(part == Data([0xFF, 0xD8]))
    #expect(unchanged.status == 304)
  }

  @Test func aBusyPortIsToldWithItsNumber() throws {
    let server = try LoopbackServer { _ in .text("") }

    let error = #expect(throws: LoopbackServerError.self) { try DemoService(port: server.port) }

    #expect("\(error as Any)".contains("\(server.port)"))
  }

  @Test func optionsAreReadAndComeBeforeTheEnvironment() throws {
    let options = try CommandLineOptions(["--service", "http://localhost/a", "--allow-insecure", "--state", "f"])
    let environment = ["SlideWebServiceUrl": "e", "ImageBaseUrl": "i"]

    #expect(options.value(of: .service, environment: environment) == "http://localhost/a")
    #expect(options.value(of: .imageBase, environment: environment) == "i")
    #expect(options.allowsInsecure)
    #expect(!options.needsDemo(environment: [:]))
    #expect(try CommandLineOptions([]).needsDemo(environment: [:]))
    #expect(try !CommandLineOptions([]).needsDemo(environment: ["ImageBaseUrl": ""]))
  }

  @Test(arguments: [
    ["--service"], ["--colour"], ["--serve", "--port", "x"], ["--port", "1"],
    ["--serve", "--port", "70000"],
  ])
  func mistakesOnTheCommandLineAreTold(arguments: [String]) {
    #expect(throws: CommandLineOptions.Mistake.self) { try CommandLineOptions(arguments) }
  }
}
