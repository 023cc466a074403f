import Foundation
import MartletTesting
import SAPFioriFlows
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

private struct FixedLogin: BasicCredentialDiscovery {
  let username: String
  let password: String

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) { completionHandler(BasicCredential(username: username, password: password), nil) }
}

@Suite("The user and the user's roles", .timeLimit(.minutes(5)))
struct UserRolesTests {
  private func parameters(_ service: MobileServices) -> SAPcpmsSettingsParameters {
    SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "com.example.app")
  }

  @Test func theUserIsLoadedInBothForms() async throws {
    let service = try MobileServices(.init(users: ["anna": "secret"]))
    service.setRoles(["Buyer", "Admin"], of: "anna")
    let session = SAPURLSession.uncached(
      BasicAuthenticationObserver(credentialDiscovery: FixedLogin(username: "anna", password: "secret")))
    let roles = SAPcpmsUserRoles(sapURLSession: session, settingsParameters: parameters(service))

    let user = try await roles.load()
    let (other, error) = await withCheckedContinuation { continuation in
      roles.load { continuation.resume(returning: ($0, $1)) }
    }

    #expect(user.id == "id-anna" && user.userName == "anna" && user.roles == ["Buyer", "Admin"])
    #expect(user.familyName == "Example" && user.givenName == "Anna" && user.emails == ["anna@example.com"])
    #expect(user.others == ["Groups": ["staff"]])
    #expect(other == user && error == nil)
    #expect(
      service.requests.last?.path
        == "/mobileservices/application/com.example.app/roleservice/application/com.example.app/v2/Me")
    #expect(service.requests.last?.fields[.accept] == "application/json")
  }

  @Test(
    arguments: [
      (#"{"id":"1","userName":"a","roles":["R"],"emails":"a@x","age":7,"list":[true]}"#, nil),
      (#"{"userName":"a"}"#, .malformed(type: .missingKey, description: "there is no 'id'")),
      (#"{"id":"1","userName":2}"#, .malformed(type: .invalidType, description: "'userName' is not a text")),
      ("[]", .malformed(type: .invalidType, description: "the response is not a JSON object")),
      ("?", .malformed(type: .invalidType, description: "the response is not a JSON object")),
    ] as [(String, SAPcpmsUserRolesError?)])
  func aResponseIsReadOrRefused(_ body: String, _ expected: SAPcpmsUserRolesError?) async throws {
    let server = try LoopbackServer { _ in .json(body) }
    let roles = SAPcpmsUserRoles(
      sapURLSession: SAPURLSession(configuration: .ephemeral), roleServiceUrl: server.url("/me"))
    do {
      let user = try await roles.load()
      #expect(expected == nil && user.emails == ["a@x"] && user.familyName == nil)
      #expect(user.others["age"] == ["7"])
    } catch { #expect(error as? SAPcpmsUserRolesError == expected) }
  }

  @Test func aStatusAndALostConnectionAreErrors() async throws {
    let server = try LoopbackServer { $0.path == "/me" ? .status(.forbidden) : .hangUp }
    let session = SAPURLSession(configuration: .ephemeral)
    await #expect(throws: SAPcpmsUserRolesError.invalidHTTPStatus(statusCode: 403)) {
      try await SAPcpmsUserRoles(sapURLSession: session, roleServiceUrl: server.url("/me")).load()
    }
    await #expect(throws: URLError.self) {
      try await SAPcpmsUserRoles(sapURLSession: session, roleServiceUrl: server.url("/other")).load()
    }
    #expect(SAPcpmsUserRoles(OnboardingSession(sapURLSession: session)) == nil)
  }
}

@Suite("A login page instead of the response of a service", .timeLimit(.minutes(5)))
struct LoginInsteadTests {
  @Test func itIsNamedAsSuch() async throws {
    let server = try LoopbackServer { _ in .text("<html>").with("com.sap.cloud.security.login", "login-request") }
    let session = SAPURLSession(configuration: .ephemeral)
    await #expect(throws: SAPLoginRequiredError.self) {
      try await SAPcpmsUserRoles(sapURLSession: session, roleServiceUrl: server.url("/me")).load()
    }
    await #expect(throws: SAPLoginRequiredError.self) {
      _ = try await SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: server.url("/settings"))
        .load(for: .application)
    }
    await #expect(throws: SAPLoginRequiredError.self) {
      try await SAPcpmsRemoteNotificationClient(sapURLSession: session, destinationURL: server.url("/push"))
        .registerDeviceToken(Data([1]))
    }
  }
}

/// Settings, which need not be Sendable, as text.
private func described(_ values: [String: Any]?) -> String? {
  guard let values else { return nil }
  let data = try? JSONSerialization.data(withJSONObject: values, options: [.sortedKeys])
  return data.map { String(decoding: $0, as: UTF8.self) }
}

@Suite("Settings on Mobile Services", .timeLimit(.minutes(5)))
struct SettingsTests {
  private let service: MobileServices
  private let session: SAPURLSession
  private let settings: SAPcpmsSettings

  init() throws {
    service = try MobileServices()
    session = SAPURLSession.uncached(CSRFTokenObserver(rootUrl: service.url))
    settings = SAPcpmsSettings(
      sapURLSession: session,
      settingsParameters: SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "app", deviceID: "d 1"))
  }

  private func load(
    _ settings: SAPcpmsSettings? = nil, for target: SAPcpmsSettings.SettingsTarget = .user, _ path: String? = nil
  ) async -> (String?, SAPcpmsSettingsError?) {
    await withCheckedContinuation { continuation in
      (settings ?? self.settings).load(for: target, keyPath: path) {
        continuation.resume(returning: (described($0), $1 as? SAPcpmsSettingsError))
      }
    }
  }

  private func store(
    _ json: String, for target: SAPcpmsSettings.SettingsTarget = .user, _ path: String? = nil
  ) async throws -> SAPcpmsSettingsError? {
    let object = try JSONSerialization.jsonObject(with: Data(json.utf8))
    let values = try #require(object as? [String: Any])
    return await withCheckedContinuation { continuation in
      settings.store(values, for: target, keyPath: path) {
        continuation.resume(returning: $0 as? SAPcpmsSettingsError)
      }
    }
  }

  @Test func whatIsStoredIsLoadedUntilItIsDeleted() async throws {
    for target in SAPcpmsSettings.SettingsTarget.allCases {
      #expect(try await store(#"{"color":"red","size":2}"#, for: target, "look/theme") == nil)
      #expect(await load(for: target, "look/theme").0 == #"{"color":"red","size":2}"#)
      #expect(await load(for: target, "look/theme/color").0 == #"{"color":"red"}"#)
      let error = await withCheckedContinuation { continuation in
        settings.delete(for: target, keyPath: "look") { continuation.resume(returning: $0 as? SAPcpmsSettingsError) }
      }
      #expect(error == nil)
      #expect(await load(for: target, "look").1 == .invalidHTTPStatus(statusCode: 404))
    }
    let root = "/mobileservices/application/app/Storage/v1/runtime/application/app"
    #expect(service.requests.contains { $0.target == "\(root)/global/look/theme" && $0.method == .put })
    #expect(service.requests.contains { $0.target == "\(root)/currentuser/look/theme?overwrite=true" })
    #expect(
      service.requests.contains { $0.target == "\(root)/currentuser/devices/d%201/look" && $0.method == .delete })
  }

  @Test func aUserAlsoGetsTheSettingsOfTheApp() async throws {
    service.setSettings(#"{"color":"red","size":2}"#, at: "theme")
    #expect(try await store(#"{"color":"blue"}"#, "theme") == nil)
    #expect(try await store(#"{"size":3}"#, for: .device, "theme") == nil)

    #expect(await load(for: .application, "theme").0 == #"{"color":"red","size":2}"#)
    #expect(await load("theme").0 == #"{"color":"blue","size":2}"#)
    #expect(await load(for: .device, "theme").0 == #"{"color":"blue","size":3}"#)
  }

  private func load(_ path: String) async -> (String?, SAPcpmsSettingsError?) { await load(nil, for: .user, path) }

  @Test func theAsynchronousFormsDoTheSame() async throws {
    try await settings.store(["color": "red"], keyPath: "theme")
    #expect(try await settings.load(keyPath: "theme")["color"] as? String == "red")
    try await settings.delete(keyPath: "theme")
    await #expect(throws: SAPcpmsSettingsError.invalidHTTPStatus(statusCode: 404)) {
      _ = try await settings.load(keyPath: "theme").count
    }
    let app = SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: service.url)
    await #expect(throws: SAPcpmsSettingsError.missingValueForSettingsTarget) { try await app.delete() }
  }

  @Test func textsThatAreNumbersAndBooleansAreRead() async throws {
    service.setSettings(
      """
      {"passwordPolicy":{"passwordPolicyMinLength":"8","passwordPolicyEnabled":"false"},
       "attestationSettings":{"iOS":{"enabled":true}},
       "logSettings":{"logEntryExpiry":"7","logLevel":"NONE"}}
      """, at: "mobileservices/settingsExchange")
    let (length, isEnabled, attests, log) = await withCheckedContinuation { continuation in
      settings.loadSAPcpmsSettings { values, _ in
        let policy = values?["passwordPolicy"] as? [String: Any]
        let iOS = (values?["attestationSettings"] as? [String: Any])?["iOS"] as? [String: Any]
        let log = values.flatMap { try? SAPcpmsLogSettings(sapcpmsSettings: $0) }
        continuation.resume(
          returning: (
            SAPcpmsSettings.int(policy?["passwordPolicyMinLength"]),
            SAPcpmsSettings.bool(policy?["passwordPolicyEnabled"]), SAPcpmsSettings.bool(iOS?["enabled"]), log
          ))
      }
    }
    #expect(length == 8 && isEnabled == false && attests == true)
    #expect(log == SAPcpmsLogSettings(entryExpiry: 7, logLevel: "NONE", maxFileSize: 0))
    #expect(SAPcpmsSettings.int("x") == nil && SAPcpmsSettings.bool("yes") == nil && SAPcpmsSettings.bool(nil) == nil)
  }

  @Test func everyFailureHasItsCase() async throws {
    let server = try LoopbackServer { $0.path == "/text" ? .text("what?") : .hangUp }
    let text = SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: server.url("/text"))
    #expect(
      await load(text, for: .application).1 == .malformed(type: .invalidType, description: "the response is not JSON"))
    #expect(await load(text, for: .userSettings).1 == .missingValueForSettingsTarget)
    let lost = SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: server.url("/lost"))
    #expect(await load(lost, for: .applicationSettings).1 == .network)
    let withoutDevice = SAPcpmsSettings(
      sapURLSession: session,
      settingsParameters: SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "app", deviceID: nil))
    #expect(await load(withoutDevice, for: .deviceSettings).1 == .missingValueForSettingsTarget)
    let error = await withCheckedContinuation { continuation in
      settings.store(["a": Date()]) { continuation.resume(returning: $0 as? SAPcpmsSettingsError) }
    }
    #expect(error == .malformed(type: .invalidType, description: "the settings are not JSON"))
  }
}

@Suite("Registrations for push notifications", .timeLimit(.minutes(5)))
struct RemoteNotificationTests {
  private let service: MobileServices
  private let session: SAPURLSession
  private let parameters: SAPcpmsSettingsParameters

  init() throws {
    service = try MobileServices(.init(protectsAgainstCSRF: false))
    session = SAPURLSession(configuration: .ephemeral)
    parameters = SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "app", deviceID: "d1")
  }

  private func error(
    _ send: (@escaping @Sendable ((any Error)?) -> Void) -> Void
  ) async -> (any Error)? {
    await withCheckedContinuation { continuation in send { continuation.resume(returning: $0) } }
  }

  @Test func aDeviceIsRegisteredAndUnregistered() async throws {
    let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, settingsParameters: parameters)
    let token = Data([0, 0x0A, 0xFF])
    let described = SAPcpmsRemoteNotificationParameters(
      deviceType: "iOS", pushGroup: "sales", userLocale: "de", timeZone: "Europe/Berlin", formFactor: "phone",
      capabilities: [.init(category: "a", capabilityName: "b", capabilityValue: "c")])

    #expect(await error { client.registerDeviceToken(token, withParameters: described, completionHandler: $0) } == nil)

    let body = try #require(service.registeredDevices["d1"])
    let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
    let fields = try #require(object)
    #expect(fields["pushToken"] as? String == "000aff" && fields["deviceModel"] as? String == "iOS")
    #expect(fields["pushGroup"] as? String == "sales" && fields["timeZone"] as? String == "Europe/Berlin")
    #expect((fields["capabilities"] as? [[String: String]])?.first?["capabilityName"] == "b")
    #expect(
      service.requests.last?.path == "/mobileservices/push/v1/runtime/applications/app/os/ios/devices/d1")

    #expect(await error { client.unregisterDeviceToken(completionHandler: $0) } == nil)
    #expect(service.registeredDevices.isEmpty)
    let missing = await error { client.unregisterDeviceToken(completionHandler: $0) }
    guard case SAPcpmsRemoteNotificationError.invalidHTTPStatus(404)? = missing else {
      Issue.record("expected .invalidHTTPStatus")
      return
    }
  }

  @Test func theAsynchronousFormsDoTheSame() async throws {
    let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, settingsParameters: parameters)
    try await client.registerDeviceToken(Data([1]))
    #expect(service.registeredDevices.keys.sorted() == ["d1"])
    try await client.unregisterDeviceToken()
    #expect(service.registeredDevices.isEmpty)
    await #expect(throws: SAPcpmsRemoteNotificationError.self) { try await client.registerDeviceToken(Data()) }
  }

  @Test func aSessionOfAUserRegistersIt() async throws {
    let user = OnboardingSession(sapURLSession: session, settingsParameters: parameters)
    #expect(await error { user.registerDeviceToken(deviceToken: Data([1]), completionHandler: $0) } == nil)
    #expect(service.registeredDevices["d1"]?.contains(#""pushToken":"01""#) == true)
    let nobody = OnboardingSession(sapURLSession: session)
    let failure = await error { nobody.registerDeviceToken(deviceToken: Data([1]), completionHandler: $0) }
    guard case SAPcpmsRemoteNotificationError.invalidArguments(is FoundationExtensionError)? = failure else {
      Issue.record("expected .invalidArguments")
      return
    }
  }

  @Test func anEmptyTokenAndALostConnectionAreErrors() async throws {
    let server = try LoopbackServer { _ in .hangUp }
    let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, destinationURL: server.url("/"))
    let empty = await error { client.registerDeviceToken(Data(), completionHandler: $0) }
    guard case SAPcpmsRemoteNotificationError.emptyDeviceToken? = empty else {
      Issue.record("expected .emptyDeviceToken")
      return
    }
    #expect(server.requests.isEmpty)
    let lost = await error { client.registerDeviceToken(Data([1]), completionHandler: $0) }
    guard case SAPcpmsRemoteNotificationError.networkCommunicationFailed(let cause?, nil, nil)? = lost else {
      Issue.record("expected .networkCommunicationFailed")
      return
    }
    #expect(cause is URLError)
  }
}
