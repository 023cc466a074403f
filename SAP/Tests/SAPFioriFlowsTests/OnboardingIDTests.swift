import MartletTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

@Suite("Who has onboarded on this device", .timeLimit(.minutes(5)))
struct OnboardingIDTests {
  private let folder: TemporaryFolder
  private let records: OnboardingRecords

  init() throws {
    folder = try TemporaryFolder()
    records = .temporary(folder)
  }

  private func next(_ manager: any OnboardingIDManaging) -> OnboardingFlow.FlowType? {
    let answers = Log<OnboardingFlow.FlowType>()
    manager.flowToStart { answers.append($0) }
    return answers.entries.first
  }

  private func store(_ id: UUID, in manager: any OnboardingIDManaging) -> (any Error)? {
    let answers = Log<(any Error)?>()
    manager.store(onboardingID: id) { answers.append($0) }
    return answers.entries.first ?? StepError(name: "no answer")
  }

  @Test func oneUserIsRememberedUntilRemoved() {
    let manager = SingleUserOnboardingIDManager(records)
    let id = UUID()
    #expect(next(manager) == .onboard)
    #expect(store(id, in: manager) == nil)
    #expect(next(SingleUserOnboardingIDManager(.temporary(folder))) == .restore(onboardingID: id))
    manager.backgroundMode = true
    #expect(next(manager) == .background(onboardingID: id))
    manager.remove(onboardingID: UUID()) {}
    #expect(next(manager) == .background(onboardingID: id))
    manager.remove(onboardingID: id) {}
    #expect(next(manager) == .onboard)
  }

  @Test func theFirstOfTwoWins() {
    let (first, second) = (SingleUserOnboardingIDManager(records), SingleUserOnboardingIDManager(.temporary(folder)))
    let id = UUID()
    #expect(store(id, in: first) == nil)
    #expect(store(UUID(), in: second) as? OnboardingControllerError == .mismatchingOnboardingIDs)
    #expect(next(second) == .restore(onboardingID: id))
  }

  @Test func withoutAFileAUserOnboardsAndCannotBeStored() {
    let manager = SingleUserOnboardingIDManager(OnboardingRecords { throw StepError(name: "no folder") })
    #expect(next(manager) == .onboard)
    guard case OnboardingFlowError.notStored? = store(UUID(), in: manager) else {
      Issue.record("expected .notStored")
      return
    }
  }

  @Test func severalUsersTakeTurns() throws {
    let manager = MultiUserOnboardingIDManager(userManager: UserManager(records))
    let (anna, ben) = (UUID(), UUID())
    #expect(next(manager) == .onboard)
    manager.next = .newUser(name: "anna")
    #expect(store(anna, in: manager) == nil && next(manager) == .restore(onboardingID: anna))
    manager.next = .newUser(name: "ben")
    #expect(next(manager) == .onboard && store(ben, in: manager) == nil)
    #expect(next(manager) == .restore(onboardingID: ben))
    #expect(try manager.users().map(\.name) == ["ben", "anna"])

    manager.next = .user(onboardingID: anna)
    #expect(next(manager) == .restore(onboardingID: anna))
    #expect(
      try MultiUserOnboardingIDManager(userManager: UserManager(.temporary(folder))).users().first?.name == "anna")
    manager.remove(onboardingID: anna) {}
    #expect(next(manager) == .restore(onboardingID: ben))
  }

  @Test func aNameIsThatOfOneUser() throws {
    let manager = MultiUserOnboardingIDManager(userManager: UserManager(records))
    manager.next = .newUser(name: "anna")
    #expect(store(UUID(), in: manager) == nil)
    manager.next = .newUser(name: "anna")
    #expect(store(UUID(), in: manager) as? UserManagerError == .userAlreadyExists(with: "anna"))
    #expect(try manager.users().count == 1)
  }

  @Test func manyUsersAreStoredAtOnce() async throws {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask { [folder] in
          let manager = UserManager(.temporary(folder))
          try? manager.store(OnboardingUser(onboardingID: UUID(), name: "user \(number)"))
        }
      }
    }
    #expect(try UserManager(records).users().count == 20)
  }
}
