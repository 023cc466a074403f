import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPPrograms
import Testing

@Suite("The programs", .timeLimit(.minutes(5)))
struct ProgramTests {
  @Test(arguments: [
    (["--port", "70000"], "--port 70000: a port is a number from 0 to 65535"),
    (["--port"], "--port needs a value: see --help"),
    (["--fault", "x"], "--fault x: there is no such fault; --help lists them"),
    (["serve"], "unknown option 'serve': see --help"),
  ])
  func mistakesOnTheGatewaysCommandLineAreExplained(_ arguments: [String], _ message: String) {
    let error = #expect(throws: UsageMistake.self) { try GatewayOptions(arguments) }

    #expect(error?.description == message)
  }

  @Test(arguments: [
    (["--gateway", "here"], "--gateway here: a gateway is a URL such as http://127.0.0.1:8010"),
    (
      ["--tour", "--gateway=http://localhost"],
      "--tour stops its gateway in the end, so it starts its own: leave --gateway out"
    ),
    (["--colour"], "unknown option '--colour': see --help"),
  ])
  func mistakesOnTheShellsCommandLineAreExplained(_ arguments: [String], _ message: String) {
    let error = #expect(throws: UsageMistake.self) { try ShellOptions(arguments) }

    #expect(error?.description == message)
  }

  @Test func optionsAreRead() throws {
    let options = try GatewayOptions(["--port=0", "--fault", "slow,saml", "--quiet"])

    #expect(options.port == 0)
    #expect(options.faults == [.slow, .saml])
    #expect(options.isQuiet)
    #expect(!options.wantsClientCertificates)
    #expect(try GatewayOptions(["--client-certificates"]).wantsClientCertificates)
    #expect(try GatewayOptions(["-h"]).wantsHelp)
    #expect(try ShellOptions(["--gateway", "http://localhost:1"]).gateway?.port == 1)
    #expect(GatewayOptions.help.contains("csrf-changes"))
  }

  @Test func theCommandsInTheReadmePrintWhatItSays() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let readme = try String(contentsOf: folder.appending(path: "README.md"), encoding: .utf8)
    let block = try #require(readme.split(separator: "```console\n").last?.split(separator: "```\n").first)
    let lines = block.split(separator: "\n").map(String.init)
    let gateway = try ExampleGateway.start()
    let commands = lines.filter { $0.hasPrefix("$ ") }.map {
      $0.dropFirst(2).replacing("http://localhost:8010", with: "\(gateway.url)")
    }
    let temporary = try TemporaryFolder()

    let program = try ChildProcess(
      "bash", ["-c", commands.joined(separator: "\n")], in: temporary.url, output: .readWithErrors)
    let printed = String(decoding: program.readToEnd(), as: UTF8.self)

    #expect(commands.count > 4)
    #expect(printed.split(separator: "\n").map(String.init) == lines.filter { !$0.hasPrefix("$ ") })
  }
}
