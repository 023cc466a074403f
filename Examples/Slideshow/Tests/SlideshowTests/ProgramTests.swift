import SlideshowLaunch
import SlideshowModel
import Testing

@Suite("Row 44: what the program is told", .timeLimit(.minutes(5)))
struct ProgramTests {
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
    ["--serve", "--port", "70000"], ["--poll", "-1"], ["--rate", "0"],
  ])
  func mistakesOnTheCommandLineAreTold(arguments: [String]) {
    #expect(throws: CommandLineOptions.Mistake.self) { try CommandLineOptions(arguments) }
  }
}
