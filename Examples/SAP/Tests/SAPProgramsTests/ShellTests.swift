import Foundation
import MartletTesting
import SAPFoundationTesting
import Testing

@testable import SAPPrograms

/// The shell as a program, whose folder is one of the test: what it keeps of its users outlives its end.
@Suite("The shell", .timeLimit(.minutes(5)))
struct ShellTests {
  private let gateway: SAPGateway
  private let folder: TemporaryFolder

  init() throws {
    gateway = try ExampleGateway.start()
    folder = try TemporaryFolder()
  }

  /// Runs the program with lines of input, and returns the lines that it prints, with those of the input.
  private func run(_ lines: [String]) async throws -> [String] {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "sap-shell").path
    let input = try folder.write(Data((lines + ["quit"]).joined(separator: "\n").utf8), to: "input")
    let arguments = [
      "-c", #"XDG_DATA_HOME=$1/data XDG_CACHE_HOME=$1/cache exec "$0" --gateway "$3" <"$2""#, program, folder.url.path,
      input.path, gateway.url.absoluteString,
    ]
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let process = try ChildProcess("sh", arguments, output: .readWithErrors)
            return String(decoding: process.readToEnd(), as: UTF8.self).split(separator: "\n").map(String.init)
          })
      }
    }
  }

  /// The answers of a new user.
  private func answers(_ name: String) -> [String] { ["yes", "secret", "yes", "Passcode-\(name)"] }

  /// Runs commands as anna, and returns what they print.
  private func lines(of commands: [String]) async throws -> [String] {
    let lines = try await run(["anna"] + answers("anna") + commands)
    let first = try #require(lines.firstIndex { $0.hasPrefix("Hello, anna") }, "\(lines)")
    return lines.dropFirst(first + 1).filter { !$0.hasPrefix("anna> ") && !$0.hasPrefix("New passcode") }
  }

  @Test func aUserOnboardsReturnsLocksAndLeaves() async throws {
    let first = try await run(["anna", "yes", "wrong", "secret", "yes", "short", "Passcode-anna", "roles"])
    #expect(first.contains("Welcome to the shop.") && first.contains("Data Privacy: The shop keeps your orders."))
    #expect(first.contains("It does not meet the server's policy."))
    #expect(first.contains("anna, anna@example.com: Orders.Read, Orders.Write"))

    let second = try await run(
      [
        "wrong", "Passcode-anna", "roles", "lock", "roles", "unlock", "no", "Passcode-anna", "roles", "reset", "open",
        "",
      ])
    #expect(second.contains("Passcode, 9 attempts left: Passcode-anna"))
    #expect(!second.contains { $0.contains("Password of") || $0.contains("Do you consent?") })
    #expect(second.filter { $0.hasPrefix("anna, anna@") }.count == 2)
    #expect(second.contains("Failed: the app is not open: 'open' and 'unlock' open it."))
    #expect(second.contains("Everything of anna is removed.") && second.contains { $0.hasPrefix("closed> open") })
  }

  @Test func twoUsersTakeTurnsAndOneForgetsThePasscode() async throws {
    let output = try await run(
      ["anna"] + answers("anna") + ["roles", "user ben"] + answers("ben") + ["roles"]
        + ["user anna", "Passcode-anna", "roles", "user ben", "forgotten"] + answers("ben") + ["roles"])
    #expect(output.filter { $0 == "anna, anna@example.com: Orders.Read, Orders.Write" }.count == 2)
    #expect(output.filter { $0 == "ben, ben@example.com: Orders.Read" }.count == 2)
    #expect(output.contains("The passcode was forgotten: the user has to be reset. The shop begins anew."))

    let next = try await run(["Passcode-ben", "roles"])
    #expect(next.contains("ben, ben@example.com: Orders.Read"))
  }

  @Test func aNetworkThatIsLostInTheMiddleOfAnOnboardingLeavesNoUser() async throws {
    let output = try await run(
      ["", "network off 2", "open", "anna", "yes", "secret", "network on", "open"] + answers("anna"))
    #expect(output.contains { $0.hasPrefix("Expected: ") }, "\(output)")
    #expect(output.contains { $0.hasPrefix("Hello, anna") })

    let next = try await run([
      "Passcode-anna", "network off", "roles", "lock", "unlock", "Passcode-anna", "network on", "roles",
    ])
    #expect(next.contains { $0.hasPrefix("Hello again, anna") } && next.contains { $0.hasPrefix("Expected: ") })
    #expect(next.filter { $0.hasPrefix("anna, anna@") }.count == 1)
  }

  @Test func withoutANetworkAUserReturns() async throws {
    _ = try await run(["anna"] + answers("anna"))
    gateway.stop()
    let lines = try await run(["Passcode-anna", "roles"])
    #expect(lines.contains { $0.hasPrefix("Hello again, anna") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("Failed: ") && !$0.contains("NSErrorFailingURLKey") })
  }

  @Test func anAppThatIsWipedKeepsNothing() async throws {
    let lines = try await run(
      ["anna"] + answers("anna") + ["fault wiped", "roles", "fault", "open", "anna"] + answers("anna"))
    #expect(lines.contains("The administrator has wiped the app: everything of the user is removed."), "\(lines)")
    #expect(lines.filter { $0.hasPrefix("Hello, anna") }.count == 2)

    // A user who returns is removed, too.
    let next = try await run(
      ["Passcode-anna", "fault wiped", "user anna", "Passcode-anna", "fault", "open", "anna"] + answers("anna"))
    #expect(next.contains("The administrator has wiped the app: everything of the user is removed."), "\(next)")
    #expect(next.contains { $0.hasPrefix("Hello, anna") })
  }

  @Test func theShellDoesWhatIsTyped() async throws {
    let lines = try await lines(of: [
      "orders Anna", "order Cleo 3.20", "status 4 paid", "orders Cleo", "odata v2", "orders Ben", "picture", "roles",
      "",
      "upload",
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
        "The log is uploaded.",
      ])
  }

  @Test func failuresThatTheUserAskedForAreExpected() async throws {
    let lines = try await lines(of: [
      "fault unavailable", "roles", "fault version-inactive", "roles", "fault locked", "orders", "fault", "roles",
    ])
    #expect(
      lines == [
        "Faults: unavailable",
        "Expected: The user was not loaded: status 503.",
        "Faults: version-inactive",
        "Expected: This version of the app can no longer be used: update the app.",
        "Faults: locked",
        "Expected: The app is locked by its administrator.",
        "No faults.",
        "anna, anna@example.com: Orders.Read, Orders.Write",
      ])
  }

  @Test(arguments: ["blocked", "locked"]) func aUserWhoMayNotUseTheAppIsNotOnboarded(name: String) async throws {
    let lines = try await run([name, "yes", "secret"])
    #expect(lines.contains { $0.hasPrefix("Expected: The \(name == "blocked" ? "user" : "app") is") }, "\(lines)")
    #expect(!lines.contains { $0.hasPrefix("Hello") } && lines.contains("closed> quit"))
  }

  @Test(arguments: ["csrf-changes", "csrf-none", "session-short"])
  func theShellSurvivesFaultsOfSessionsAndTokens(fault: String) async throws {
    let lines = try await lines(of: ["fault \(fault)", "order A 1", "order B 2", "order C 3"])
    #expect(lines.dropFirst() == ["Order 4 is created.", "Order 5 is created.", "Order 6 is created."])
  }

  @Test func unknownCommandsAndArgumentsAreExplained() async throws {
    let lines = try await lines(of: [
      "dance", "order", "order A x", "status x paid", "odata v3", "network up", "\u{1B}[Hhe\u{1B}[1;5C\u{1B}OFlp",
    ])
    #expect(
      lines.prefix(6) == [
        "There is no command 'dance': 'help' lists them.",
        "Usage: order CUSTOMER TOTAL",
        "'x' is not a number.",
        "'x' is not a number.",
        "Usage: odata v2|v4",
        "Usage: network off|on [N]",
      ])
    #expect(lines.contains { $0.contains("changes the user: anna, ben, blocked, locked or wiped") })
  }
}
