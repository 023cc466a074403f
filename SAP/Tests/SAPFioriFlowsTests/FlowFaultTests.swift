import MartletTesting
import SAPFoundationTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

/// What a flow does if one of the services that it asks has a fault.
struct FlowFaultRow: Sendable, CustomTestStringConvertible {
  let fault: SAPGateway.Fault
  /// How the error of an onboarding begins; nil if it succeeds.
  var onboarding: String?
  /// How the error of a user's return begins; nil if it succeeds. By default that of an onboarding.
  var restoring: String??
  /// What the user is told or asked besides, when onboarding.
  var notes: [String] = []

  var testDescription: String { fault.rawValue }

  static let all: [FlowFaultRow] = [
    .init(fault: .settingsMissing), .init(fault: .destinationsMissing),
    .init(fault: .settingsInvalid, onboarding: "The settings cannot be read or written: the response is not JSON."),
    .init(fault: .policyInvalid, onboarding: "The settings of Mobile Services have no valid 'passwordPolicy'."),
    .init(fault: .policyStrict),
    .init(fault: .policyDisconnect),
    .init(fault: .versionInactive, onboarding: "This version of the app can no longer be used"),
    .init(fault: .blocked, onboarding: "The user is blocked.", notes: ["TRAFFIC_BLOCKED"]),
    .init(fault: .locked, onboarding: "The app is locked by its administrator."),
    .init(fault: .wiped, onboarding: "The app's data were removed by its administrator."),
    .init(fault: .unavailable, onboarding: "The user was not signed in: status 503."),
    .init(fault: .errorPage, onboarding: "The user was not signed in: status 500."),
    .init(fault: .sessionTimedOut, onboarding: "The user was not signed in: status 400."),
    .init(fault: .saml, onboarding: "The user was not signed in: the server sent a sign-in page."),
    .init(fault: .hangUp, onboarding: "", restoring: .some(nil)),
    .init(fault: .reset, onboarding: "", restoring: .some(nil)),
    .init(fault: .csrfRefused), .init(fault: .sessionPerRequest), .init(fault: .sessionShort),
  ]
}

@Suite("Flows of an app whose gateway has faults", .timeLimit(.minutes(5)))
struct FlowFaultTests {
  private let app: GeneratedApp

  init() throws {
    app = try GeneratedApp()
    app.screens.change { $0.newPasscodes = ["Secret123", "Secret-123456", "Secret-654321"] }
  }

  private func expectFailure(_ beginning: String, _ work: () async throws -> Void) async {
    let error = await #expect(throws: (any Error).self) { try await work() }
    #expect(error?.localizedDescription.hasPrefix(beginning) == true, "\(String(describing: error))")
  }

  @Test(arguments: FlowFaultRow.all) func aNewUser(row: FlowFaultRow) async throws {
    app.faults.names = [row.fault]
    if row.fault == .policyStrict { app.screens.change { $0.newPasscodes = ["Secret", "Secret-123456"] } }
    guard let failure = row.onboarding else {
      let context = try await app.onboard()
      #expect(context.persistentStoreManger.store?.isOpen == true)
      if row.fault == .policyStrict {
        #expect(app.screens.notes.entries.filter { $0.hasPrefix("choose") } == ["choose 0", "choose 2"])
      }
      return
    }
    let context = OnboardingContext.plain(UUID(), app.screens)
    await expectFailure(failure) { _ = try await app.onboard(context.onboardingID, context) }
    for note in row.notes { #expect(app.screens.notes.entries.contains(note)) }

    // Nothing stays of the user, and without the fault another attempt succeeds.
    #expect(app.stores.isEmpty)
    let kept = try BasicCredentialStorage(store: context.credentialStore).credential(for: app.gateway.url)
    #expect(kept == nil)
    app.faults.names = []
    app.screens.change { $0.newPasscodes = ["Secret123"] }
    #expect(try await app.user(try await app.onboard()) == "anna")
  }

  @Test(arguments: FlowFaultRow.all) func aUserWhoReturns(row: FlowFaultRow) async throws {
    let id = try await app.onboardAndEnd()
    let context = OnboardingContext.plain(id, app.screens)
    app.faults.names = [row.fault]
    guard let failure = row.restoring ?? row.onboarding else {
      _ = try await app.restore(id, context)
      if row.fault == .policyStrict {
        // The stricter policy of the server needs a new passcode, which opens the store from now on.
        context.persistentStoreManger.store?.close()
        app.faults.names = []
        await #expect(throws: StoreManagerError.cancelPasscodeEntry) { _ = try await app.restore(id) }
      }
      return
    }
    await expectFailure(failure) { _ = try await app.restore(id, context) }
    context.persistentStoreManger.store?.close()

    // The user has lost nothing.
    #expect(app.stores.count == 1)
    app.faults.names = []
    #expect(try await app.user(try await app.restore(id)) == "anna")
    #expect(app.screens.notes.entries.filter { $0 == "password" }.count == 1)
  }

  /// A wipe also tells the app, whose work is to remove its data.
  @Test func aWipeTellsTheAppBesides() async throws {
    final class Removal: LockAndWipeEventObserving, Sendable {
      let wiped = Gate()
      func didWipe() async { wiped.open() }
    }
    let removal = Removal()
    LockAndWipeManager.shared.register(removal)
    defer { LockAndWipeManager.shared.unregister(removal) }
    app.faults.names = [.wiped]
    await #expect(throws: LockWipePolicyError.trafficWiped) { _ = try await app.onboard() }
    try await removal.wiped.wait()
  }

  @Test func aDeviceWithoutContactIsLockedAndThenWiped() async throws {
    app.faults.names = [.policyDisconnect]
    let id = try await app.onboardAndEnd()
    app.gateway.stop()
    let rows: [(days: Double, error: String?)] = [
      (0.5, nil), (1.5, "The app is locked, because it had no contact"), (21, "The app's data have to be removed"),
    ]
    for row in rows {
      // As if the last contact were so long ago: the observer reads it from the user's store.
      let earlier = SimpleTaskStep(always: { context in
        let date = Date(timeIntervalSinceNow: -row.days * 86_400)
        try context.credentialStore.put(date, for: "SAPcpmsLockAndWipeObserver.lastContact")
      })
      var app = app
      app.between = [earlier]
      let context = OnboardingContext.plain(id, app.screens)
      if let error = row.error {
        await expectFailure(error) { _ = try await app.restore(id, context) }
      } else {
        _ = try await app.restore(id, context)
      }
      context.persistentStoreManger.store?.close()
    }
  }

  @Test(
    arguments: [
      (.rolesMissing, "The user was not loaded: status 403."),
      (.rolesInvalid, "The response about the user cannot be read"),
      (.unavailable, "The user was not loaded: status 503."),
    ] as [(SAPGateway.Fault, String)])
  func theRolesOfASession(fault: SAPGateway.Fault, error: String) async throws {
    let context = try await app.onboard()
    app.faults.names = [fault]
    await expectFailure(error) { _ = try await app.user(context) }
    app.faults.names = []
    #expect(try await app.user(context) == "anna")
  }

  @Test(arguments: [SAPGateway.Fault.pushOff, .unavailable])
  func theDeviceOfASession(fault: SAPGateway.Fault) async throws {
    let context = try await app.onboard()
    let session = OnboardingSession(flow: OnboardingFlow(flowType: .onboard, context: context, steps: []))
    app.faults.names = [fault]
    let failed = await withCheckedContinuation { continuation in
      session.registerDeviceToken(deviceToken: Data([1, 2])) { continuation.resume(returning: $0) }
    }
    #expect(failed is SAPcpmsRemoteNotificationError)
    app.faults.names = []
    let error = await withCheckedContinuation { continuation in
      session.registerDeviceToken(deviceToken: Data([1, 2])) { continuation.resume(returning: $0) }
    }
    #expect(error == nil)
  }
}
