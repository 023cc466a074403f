#if os(Linux)
import MartletTesting
import SAPFioriFlows
import SAPFoundationTesting
import TestSupport
import Testing

/// Programs that onboard a user: killed at each step and then started again, and with a user who signs out.
@Suite("Programs that onboard a user, and their files", .timeLimit(.minutes(10)))
struct KillTests {
  private let service: MobileServices
  private let folder: TemporaryFolder

  /// The numbers of steps; `everyStepIsKilled` checks them.
  private static let (onboarding, restoring) = (16, 15)

  init() throws {
    service = try MobileServices(.init(users: ["anna": "secret-password"], applicationID: "com.example.shop"))
    service.setSettings(
      #"{"passwordPolicy":{"passwordPolicyEnabled":"true"},"blockWipingPolicy":{"blockWipeEnabled":false}}"#,
      at: "mobileservices/settingsExchange")
    folder = try TemporaryFolder()
  }

  private func start(_ arguments: [String]) throws -> ChildProcess {
    let folders = ["XDG_DATA_HOME=\(folder.file("data").path)", "XDG_CACHE_HOME=\(folder.file("cache").path)"]
    return try ChildProcess(
      "env", folders + [try builtProgram("flow-program"), service.url.absoluteString] + arguments, output: .read)
  }

  /// Runs blocking work on a thread of its own.
  private func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
  }

  /// Runs the program to its end, and returns its lines.
  private func run(_ arguments: String...) async throws -> [String] {
    try await blocking {
      let process = try start(arguments)
      let text = String(decoding: process.readToEnd(), as: UTF8.self)
      return text.split(separator: "\n").map(String.init) + (process.succeeds() ? [] : ["failed"])
    }
  }

  /// Kills the program before a step.
  private func kill(before step: Int, _ arguments: String...) async throws {
    try await blocking {
      let process = try start(["--stop", "\(step)"] + arguments)
      var text = ""
      while !text.contains("at \(step)"), let more = process.read() { text += String(decoding: more, as: UTF8.self) }
      process.kill()
      #expect(text.contains("at \(step)") && process.exitCode() == nil)
    }
  }

  /// Kills the program while it waits for a response.
  private func kill(whileItAsks path: String) async throws {
    let gate = Gate()
    let before = service.requests(to: path).count
    service.answer(path, with: Reply.text("late").held(by: gate))
    let process = try start([])
    try await until { service.requests(to: path).count > before }
    process.kill()
    gate.open()
    try await blocking { #expect(process.exitCode() == nil) }
  }

  private var paths: [String] {
    FileManager.default.enumerator(atPath: folder.url.path)?.compactMap { $0 as? String } ?? []
  }

  private func stores() -> [String] { paths.filter { $0.hasSuffix(".sqlite") && $0.contains("/Store-") } }

  private func files(with text: String) -> [String] {
    paths.filter { (try? Data(contentsOf: folder.file($0)))?.range(of: Data(text.utf8)) != nil }
  }

  /// Starts the program again: a new user onboards, who returns at the next start. Nothing of another attempt stays.
  private func expectANewUser(whoReturns: Bool = true) async throws {
    let lines = try await run()
    #expect(lines.first == "onboard of \(Self.onboarding)" && lines.last?.hasSuffix(" as anna") == true, "\(lines)")
    #expect(stores().count == 1)
    if whoReturns { #expect(try await run() == ["restore of \(Self.restoring)", lines.last ?? ""]) }
    for secret in ["secret-password", "secret-passcode"] { #expect(files(with: secret).isEmpty) }
  }

  @Test func everyStepIsKilled() async throws {
    #expect(try await run().first == "onboard of \(Self.onboarding)")
    #expect(try await run().first == "restore of \(Self.restoring)")
  }

  @Test(arguments: 0...onboarding) func aNewUserOnboardsAnewAndNothingOfTheFirstAttemptStays(step: Int) async throws {
    try await kill(before: step)
    try await expectANewUser(whoReturns: step == Self.onboarding)
  }

  @Test func aNewUserWhoseIdentifierIsStoredReturns() async throws {
    try await kill(before: Self.onboarding + 1)
    let lines = try await run()
    #expect(lines.first == "restore of \(Self.restoring)" && lines.last?.hasSuffix(" as anna") == true, "\(lines)")
    #expect(stores().count == 1)
  }

  @Test(arguments: [0...4, 5...9, 10...13, 14...restoring + 1])
  func aUserWhoReturnsIsRestoredNextTime(steps: ClosedRange<Int>) async throws {
    let first = try await run()
    for step in steps {
      try await kill(before: step)
      #expect(try await run() == ["restore of \(Self.restoring)", first.last ?? ""], "killed before step \(step)")
    }
    #expect(stores().count == 1)
  }

  private static let app = "/mobileservices/application/com.example.shop"

  @Test(arguments: [
    "\(app)/endpoints",
    "\(app)/Storage/v1/runtime/application/com.example.shop/global/mobileservices/settingsExchange",
  ])
  func aProgramIsKilledInTheMiddleOfARequest(path: String) async throws {
    try await kill(whileItAsks: path)
    try await expectANewUser()
    try await kill(whileItAsks: path)
    #expect(try await run().first == "restore of \(Self.restoring)")
    #expect(stores().count == 1)
  }

  @Test func aUserWhoIsRemovedLeavesNothingInAnyFile() async throws {
    let lines = try await run("--remove")
    let words = lines.first { $0.hasPrefix("opened") }?.split(separator: " ").map(String.init) ?? []
    let id = try #require(words.count > 1 ? words[1] : nil)
    #expect(lines.last == "reset of \(Self.onboarding)")
    #expect(stores().isEmpty && !paths.contains { $0.contains(id) })
    let cookies = service.requests.compactMap { $0.fields[.cookie] }.flatMap { $0.split(separator: ";") }
    #expect(!cookies.isEmpty && !paths.isEmpty)
    let values = cookies.compactMap { $0.split(separator: "=").last.map(String.init) }
    for text in [id, "anna", "secret-password", "secret-passcode", "com.example.shop"] + Set(values) {
      #expect(files(with: text).isEmpty, "\(text)")
    }
    try await expectANewUser()
  }

  @Test(arguments: [0, 7, onboarding - 1, onboarding]) func aUserWhoseRemovalIsKilledIsGone(step: Int) async throws {
    let first = try await run()
    let id = try #require(first.last?.split(separator: " ").dropFirst().first.map(String.init))
    try await kill(before: step, "--remove")
    try await expectANewUser()
    #expect(!paths.contains { $0.contains(id) } && files(with: id).isEmpty)
  }
}
#endif
