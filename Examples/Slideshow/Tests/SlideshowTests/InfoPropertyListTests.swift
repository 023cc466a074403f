import Martlet
import MartletTesting
import SlideshowLaunch
import SlideshowModel
import Testing

@Suite("The tutorial's keys in an Info.plist", .timeLimit(.minutes(5)))
struct InfoPropertyListTests {
  private let file = FileManager.default.temporaryDirectory.appending(path: "slideshow-\(UUID()).plist").path

  /// Runs with a file that has this content.
  private func with(_ content: Data, _ body: () throws -> Void) throws {
    defer { try? FileManager.default.removeItem(atPath: file) }
    try content.write(to: URL(filePath: file))
    try body()
  }

  private func xml(_ content: String) -> Data {
    Data(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">\(content)</plist>
      """.utf8)
  }

  private let both = """
    <dict>
      <key>CFBundleVersion</key><string>1</string>
      <key>SlideWebServiceUrl</key><string>http://localhost:8000/s.json</string>
      <key>NSAppTransportSecurity</key><dict><key>NSAllowsLocalNetworking</key><true/></dict>
      <key>ImageBaseUrl</key><string>http://localhost:8000/i/</string>
    </dict>
    """

  private func configuration(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> SlideshowConfiguration {
    let options = try CommandLineOptions(arguments)
    return try SlideshowConfiguration(file: options.infoPropertyList?.file) {
      options.value(of: $0, environment: environment)
    }
  }

  @Test func bothURLsAreReadFromXML() throws {
    try with(xml(both)) {
      let configuration = try configuration(["--info-plist", file])

      #expect(configuration.service.absoluteString == "http://localhost:8000/s.json")
      #expect(configuration.imageBase.absoluteString == "http://localhost:8000/i/")
      #expect(try !CommandLineOptions(["--info-plist", file]).needsDemo(environment: [:]))
    }
  }

  @Test func bothURLsAreReadFromABinaryFileThatPythonWrote() throws {
    defer { try? FileManager.default.removeItem(atPath: file) }
    let script = """
      import plistlib, sys
      with open(sys.argv[1], "wb") as file:
          plistlib.dump({"SlideWebServiceUrl": "http://localhost/s.json", "ImageBaseUrl": "http://localhost/ü/", "n": [1, b"x"]},
                        file, fmt=plistlib.FMT_BINARY)
      """
    #expect(try ChildProcess("/usr/bin/env", ["python3", "-c", script, file], output: .read).succeeds())

    let list = try InfoPropertyList(file: file)

    #expect(list[.service] == "http://localhost/s.json")
    #expect(list[.imageBase] == "http://localhost/ü/")
  }

  @Test(arguments: [("SlideWebServiceUrl", SlideshowConfiguration.Key.service), ("ImageBaseUrl", .imageBase)])
  func aMissingKeyIsTheTutorialsError(name: String, key: SlideshowConfiguration.Key) throws {
    let content = both.replacing("<key>\(name)</key>", with: "<key>other</key>")

    try with(xml(content)) {
      // The environment does not count if a file is given.
      let error = #expect(throws: SlideshowError.self) {
        try configuration(["--info-plist", file], environment: [name: "http://localhost/e/"])
      }

      #expect(error == .noUrlDefinedInInfoPropertyList(key, file: file))
      #expect("\(error as Any)".contains(name))
      #expect("\(error as Any)".contains(file))
    }
  }

  @Test func anOptionComesBeforeTheFile() throws {
    try with(xml(both)) {
      let configuration = try configuration(["--info-plist", file, "--service", "http://localhost/o.json"])

      #expect(configuration.service.absoluteString == "http://localhost/o.json")
      #expect(configuration.imageBase.absoluteString == "http://localhost:8000/i/")
    }
  }

  @Test(arguments: [
    ("<dict><key>ImageBaseUrl</key><integer>1</integer></dict>", "ImageBaseUrl is not a string"),
    ("<array/>", "not a property list with a dictionary"),
  ])
  func aFileThatCannotBeUsedIsToldWithTheReason(content: String, reason: String) throws {
    try with(xml(content)) {
      let error = #expect(throws: SlideshowError.self) { try InfoPropertyList(file: file) }
      #expect("\(error as Any)".contains(reason))
      #expect("\(error as Any)".contains(file))
    }
  }

  @Test func aFileThatIsNoPropertyListOrNotThereIsTold() throws {
    try with(Data("hello".utf8)) {
      #expect(throws: SlideshowError.self) { try InfoPropertyList(file: file) }
    }
    let error = #expect(throws: SlideshowError.self) { try InfoPropertyList(file: file) }
    #expect("\(error as Any)".contains("no such file"))
  }
}
