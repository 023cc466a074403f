import MartletTesting
import SAPFioriFlows
import SAPFoundationTesting
import Testing

private final class ApplicationOnboardingSession: OnboardingSession {
  let name = "orders"
}

@Suite("The opener of sessions", .timeLimit(.minutes(5)))
struct SessionOpenerTests {
  private typealias Manager = SessionOpener<ApplicationOnboardingSession>
  private typealias Done = @Sendable (ApplicationOnboardingSession?, (any Error)?) -> Void

  private func error(_ manager: Manager) async -> (any Error)? {
    await withCheckedContinuation { continuation in manager.open { continuation.resume(returning: $0) } }
  }

  @Test func itOpensOnceAndThenHasTheSession() async throws {
    let service = try MobileServices()
    let openings = Shared<[Done]>([])
    let manager = Manager { done in openings.change { $0.append(done) } }
    let ends = Shared(0)
    for _ in 0..<3 { manager.open { error in if error == nil { ends.change { $0 += 1 } } } }
    #expect(manager.onboardingSession == nil && openings.value.count == 1 && ends.value == 0)

    let settings = SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "app")
    openings.value[0](
      ApplicationOnboardingSession(
        sapURLSession: SAPURLSession(configuration: .ephemeral), settingsParameters: settings), nil)

    #expect(ends.value == 3 && manager.onboardingSession?.name == "orders")
    #expect(await error(manager) == nil && openings.value.count == 1)
    let session = try #require(manager.onboardingSession?.sapURLSession)
    #expect(await session.post(service.url("/backend/Orders")).status == 403)  // no observer for tokens
    #expect(manager.onboardingSession?.settingsParameters?.backendURL == service.url)

    manager.reset()
    #expect(manager.onboardingSession == nil && !session.isValid)
  }

  @Test func anErrorIsReportedAndTheNextCallTriesAgain() async {
    let fails = Shared(true)
    let manager = Manager { done in
      if fails.value { return done(nil, StepError(name: "no network")) }
      done(ApplicationOnboardingSession(sapURLSession: SAPURLSession(configuration: .ephemeral)), nil)
    }
    #expect(await error(manager) as? StepError == StepError(name: "no network"))
    fails.change { $0 = false }
    #expect(await error(manager) == nil && manager.onboardingSession != nil)
    #expect(await error(Manager { $0(nil, nil) }) as? SessionOpenerError == .noSession)
  }

  @Test func aSessionOpenedBeforeTheSignOutIsNotKept() async {
    let openings = Shared<[Done]>([])
    let manager = Manager { done in openings.change { $0.append(done) } }
    let errors = Shared<[SessionOpenerError?]>([])
    manager.open { error in errors.change { $0.append(error as? SessionOpenerError) } }

    manager.reset()
    let session = SAPURLSession(configuration: .ephemeral)
    openings.value[0](ApplicationOnboardingSession(sapURLSession: session), nil)

    #expect(errors.value == [.ended])
    #expect(manager.onboardingSession == nil && !session.isValid)
  }
}
