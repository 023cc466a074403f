import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPPrograms
import Synchronization
import Testing

@Suite("The programs", .timeLimit(.minutes(5)))
struct ProgramTests {
  private final class Screen: Sendable {
    let lines = Mutex<[String]>([])
    private let commands: Mutex<[String]>

    init(_ commands: [String]) { self.commands = Mutex(commands) }

    func read() -> String? { commands.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
  }

  /// Runs a shell with commands, and returns its lines after the first.
  private func lines(of commands: [String]) async throws -> [String] {
    let gateway = try ExampleGateway.start()
    let screen = Screen(commands)
    await Shell(gateway: gateway.url) { line in screen.lines.withLock { $0.append(line) } }.run { _ in screen.read() }
    return screen.lines.withLock { Array($0.dropFirst()) }
  }

  @Test func theShellDoesWhatIsTyped() async throws {
    let lines = try await lines(of: [
      "orders Anna", "order Cleo 3.20", "status 4 paid", "orders Cleo", "odata v2", "orders Ben", "picture", "roles",
      "", "quit",
      "roles",
    ])

    #expect(
      lines == [
        "1  Anna  19.9  open",
        "Order 4 is created.",
        "Order 4 was open and is paid.",
        "4  Cleo  3.2  paid",
        "OData v2",
        "3  Ben  0.3  shipped",
        "The picture has 68531 bytes and 600×400 pixels.",
        "anna, anna@example.com: Orders.Read, Orders.Write",
      ])
  }

  @Test func failuresThatTheUserAskedForAreExpected() async throws {
    let lines = try await lines(of: [
      "fault unavailable", "roles", "fault version-inactive", "roles", "fault", "login ben", "login locked", "orders",
      "login anna wrong", "logout", "orders", "login anna",
    ])

    #expect(
      lines == [
        "Faults: unavailable",
        "Expected: The user was not loaded: status 503.",
        "Faults: version-inactive",
        "Expected: This version of the app can no longer be used: update the app.",
        "No faults.",
        "ben, ben@example.com: Orders.Read",
        "Expected: The user was not loaded: status 403.",
        "Expected: blocked (403 Forbidden)",
        "Refused: anna has another name or password. Nobody is signed in.",
        "Signed out.",
        "Expected: Unauthorized (401 Unauthorized)",
        "anna, anna@example.com: Orders.Read, Orders.Write",
      ])
  }

  @Test func theShellSurvivesFaultsOfSessionsAndTokens() async throws {
    for fault in ["csrf-changes", "csrf-none", "session-short"] {
      let lines = try await lines(of: ["fault \(fault)", "order A 1", "order B 2", "order C 3"])

      #expect(lines.dropFirst() == ["Order 4 is created.", "Order 5 is created.", "Order 6 is created."])
    }
  }

  @Test func aGatewayThatIsGoneIsAFailureInWords() async throws {
    let gateway = try ExampleGateway.start()
    gateway.stop()
    let screen = Screen([])
    let shell = Shell(gateway: gateway.url) { line in screen.lines.withLock { $0.append(line) } }

    for command in ["orders", "roles", "picture"] { await shell.run(command) }

    let lines = screen.lines.withLock { $0 }
    #expect(lines.count == 3)
    for line in lines {
      #expect(line.hasPrefix("Failed: "))
      #expect(!line.contains("NSErrorFailingURLKey"))
    }
    #expect(lines.first?.contains("cannot connect to 127.0.0.1") == true)
  }

  @Test func unknownCommandsAndArgumentsAreExplained() async throws {
    let lines = try await lines(of: [
      "dance", "order", "order A x", "status x paid", "odata v3", "\u{1B}[Hhe\u{1B}[1;5C\u{1B}OFlp",
    ])

    #expect(
      lines.dropLast() == [
        "There is no command 'dance': 'help' lists them.",
        "Usage: order CUSTOMER TOTAL",
        "'x' is not a number.",
        "'x' is not a number.",
        "Usage: odata v2|v4",
      ])
    #expect(lines.last?.contains("signs in as anna, ben, blocked, locked or wiped") == true)
  }

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
