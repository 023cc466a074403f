@testable import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Passwords that a closure returns", .timeLimit(.minutes(5)))
struct PasswordLookupTests {
  /// Returns the first question for a realm of the tests' origin.
  private static func question(_ realm: String) throws -> PasswordSource.Question {
    let space = ProtectionSpace(origin: try #require(Origin(origin)), realm: realm)
    return PasswordSource.Question(space: space, failureCount: 0, sendsPassword: true, refused: nil)
  }

  @Test func thePasswordsThatWereUsedLastAreKept() async throws {
    let asked = Mutex<[String]>([])
    let passwords = AskedPasswords { question in
      asked.withLock { $0.append(question.space.realm) }
      return Credential(user: question.space.realm, password: "secret")
    }

    for realm in Array(0..<100) + [0, 100, 0, 50, 99, 1] {
      let credential = try await passwords.credential(for: Self.question("\(realm)"), by: Call())
      #expect(credential?.user == "\(realm)")
    }

    #expect(asked.withLock { $0 } == (Array(0...100) + [1]).map { "\($0)" })
  }

  @Test(arguments: [false, true])
  func aRunningClosureIsNotCalledAgain(isCancelled: Bool) async throws {
    let gate = Gate(), isRunning = Gate()
    let asked = Mutex<[String]>([])
    let passwords = AskedPasswords { question in
      asked.withLock { $0.append(question.space.realm) }
      if question.space.realm == "slow" {
        isRunning.open()
        try await gate.wait()
      }
      return Credential(user: question.space.realm, password: "secret")
    }
    let slow = try Self.question("slow")
    let first = Task { try await passwords.credential(for: slow, by: Call()) }
    try await isRunning.wait()
    if isCancelled {
      first.cancel()
      _ = await first.result
    }

    for number in 0..<200 { _ = try await passwords.credential(for: Self.question("\(number)"), by: Call()) }
    let second = Task { try await passwords.credential(for: slow, by: Call()) }
    gate.open()

    #expect(try await second.value?.user == "slow")
    if !isCancelled { #expect(try await first.value?.user == "slow") }
    #expect(asked.withLock { $0.filter { $0 == "slow" } } == ["slow"])
  }
}
