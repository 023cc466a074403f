import SlideshowLaunch
import SlideshowModel
import Testing

@Suite("What the program is told", .timeLimit(.minutes(5)))
struct ProgramTests {
  @Test func optionsAreReadAndComeBeforeTheEnvironment() throws {
    let options = try CommandLineOptions(["--service", "http://localhost/a", "--allow-insecure", "--state", "f"])
    let environment = ["SlideWebServiceUrl": "e", "ImageBaseUrl": "i"]

    #expect(options.value(of: .service, environment: environment) == "http://localhost/a")
    #expect(options.value(of: .imageBase, environment: environment) == "i")
    #expect(options.allowsInsecure)
    #expect(try !options.needsDemo(environment: [:]))
    #expect(try CommandLineOptions([]).needsDemo(environment: [:]))
    #expect(try !CommandLineOptions([]).needsDemo(environment: ["ImageBaseUrl": ""]))
  }

  @Test(arguments: [
    ["--service"], ["--colour"], ["--serve", "--port", "x"], ["--port", "1"],
    ["--serve", "--port", "70000"], ["--poll", "-1"], ["--rate", "0"], ["--interval", "0"],
  ])
  func mistakesOnTheCommandLineAreTold(arguments: [String]) {
    #expect(throws: CommandLineOptions.Mistake.self) { try CommandLineOptions(arguments) }
  }

  @Test(arguments: [
    ["--offline", "--service", "u"], ["--offline", "--images", "u"], ["--offline", "--photos", "f"],
    ["--rate", "9", "--offline"], ["--serve", "--service", "u"], ["--images", "u", "--serve"],
    ["--serve", "--offline"], ["--serve", "--autoplay"], ["--serve", "--interval", "3"], ["--serve", "--state", "f"],
    ["--serve", "--cache", "f"], ["--serve", "--poll", "3"], ["--serve", "--allow-insecure"],
    ["--photos", "f", "--service", "u"], ["--rate", "9", "--images", "u"],
  ])
  func optionsThatContradictEachOtherAreRefusedAndBothNamed(arguments: [String]) {
    let error = #expect(throws: CommandLineOptions.Mistake.self) { try CommandLineOptions(arguments) }

    for option in arguments where option.hasPrefix("--") { #expect(error?.description.contains(option) == true) }
    #expect(error?.description.contains("contradict") == true)
  }

  @Test(arguments: ["--offline", "--photos", "--rate"])
  func anOptionForTheDemoContradictsAnEnvironmentThatNamesAnotherSlideshow(option: String) throws {
    let options = try CommandLineOptions(option == "--offline" ? [option] : [option, "9"])

    let error = #expect(throws: CommandLineOptions.Mistake.self) {
      try options.needsDemo(environment: ["SlideWebServiceUrl": "http://localhost/"])
    }

    #expect(error?.description.contains(option) == true)
    #expect(error?.description.contains("SlideWebServiceUrl") == true)
    #expect(try options.needsDemo(environment: [:]))
  }

  @Test func anOptionThatIsGivenTwiceIsRefused() {
    let error = #expect(throws: CommandLineOptions.Mistake.self) {
      try CommandLineOptions(["--poll", "1", "--poll", "2"])
    }

    #expect(error?.description == "--poll is given twice: leave one out")
  }

  @Test func theVersionIsTold() throws {
    #expect(try CommandLineOptions(["--version"]).wantsVersion)
    #expect(CommandLineOptions.version.contains(/^\d+\.\d+\.\d+$/))
    #expect(try !CommandLineOptions([]).wantsVersion)
  }

  @Test func helpAndVersionAreToldWhateverElseIsThere() throws {
    #expect(try CommandLineOptions(["--serve", "--offline", "--help"]).wantsHelp)
    #expect(try CommandLineOptions(["--colour", "-h"]).wantsHelp)
  }

  @Test func theAutoPlayHasAnInterval() throws {
    let options = try CommandLineOptions(["--autoplay", "--interval", "12"])

    #expect(options.isPlaying)
    #expect(options.interval == 12)
    #expect(try CommandLineOptions([]).interval == 5)
  }
}
