import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundationTesting
import Testing

@_spi(Stores) @testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Changes that Mobile Services confirms", .timeLimit(.minutes(5)))
struct ChangeAnswerTests {
  private static func head(_ method: HTTPMethod, _ url: String) throws -> RequestHead {
    RequestHead(method: method, url: try #require(URL(string: url)))
  }

  @Test(
    "A redirect confirms a change only with its method, at its server",
    arguments: [
      ("POST", "https://h/a", "POST", "https://h/b", true), ("POST", "https://h/a", "POST", "https://H:443/b", true),
      ("POST", "https://h/a", "GET", "https://h/b", false), ("PUT", "https://h/a", "PUT", "https://idp/b", false),
      ("DELETE", "https://h/a", "DELETE", "http://h/a", false),
    ])
  func redirectConfirmsAChangeOnlyWithItsMethod(
    _ method: HTTPMethod, _ url: String, _ lastMethod: HTTPMethod, _ lastURL: String, _ isConfirmed: Bool
  ) throws {
    let objection = ChangeAnswer.objection(
      redirected: try Self.head(method, url), last: try Self.head(lastMethod, lastURL), fields: [:], body: Data())

    #expect((objection == nil) == isConfirmed)
  }

  @Test(
    "A page or an error confirms nothing",
    arguments: [
      ("text/html", "<html>", false), ("TEXT/HTML; charset=utf-8", "x", false), ("application/xhtml+xml", "x", false),
      (nil, " <!doctype html>", false), ("text/plain", "<html>", false), ("application/xml", "<ok/>", true),
      ("application/json", #"{"error":"invalid_token"}"#, false),
      ("text/plain", #"{"error":{"message":"no"}}"#, false), ("text/html", "", true), (nil, "", true),
      ("application/json", "{}", true), ("application/json", #"{"error":null}"#, true),
      ("application/json", #"{"error":"a","color":"red"}"#, true), ("text/plain", "OK", true),
    ])
  func pageOrAnErrorConfirmsNothing(_ type: String?, _ body: String, _ isConfirmed: Bool) throws {
    var fields = HTTPFields()
    if let type { fields.append(type, for: .contentType) }

    let objection = ChangeAnswer.objection(redirected: nil, last: nil, fields: fields, body: Data(body.utf8))

    #expect((objection == nil) == isConfirmed)
  }

  // MARK: - The services

  /// Answers that have a successful status, and are not the service's. `/login` is the page at the end of a redirect.
  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
  }

  static let answers = [
    Answer(testDescription: "a page", reply: .data(Data("<html>".utf8), type: "text/html")),
    Answer(testDescription: "an error", reply: .json(#"{"error":{"code":"401","message":"no session"}}"#)),
    Answer(testDescription: "a redirect", reply: .redirect(to: "/login", status: .seeOther)),
  ]

  private static func server(_ answer: Answer, _ end: Reply) throws -> LoopbackServer {
    try LoopbackServer { $0.path == "/login" ? end : answer.reply }
  }

  @Test("A registration has to be confirmed", arguments: answers)
  func registrationHasToBeConfirmed(answer: Answer) async throws {
    let server = try Self.server(answer, .json("{}"))
    let client = SAPcpmsRemoteNotificationClient(
      sapURLSession: SAPURLSession(configuration: .ephemeral), destinationURL: server.url("/push"))

    for change in [{ try await client.registerDeviceToken(Data([1])) }, { try await client.unregisterDeviceToken() }] {
      let error = await #expect(throws: SAPcpmsRemoteNotificationError.self) { try await change() }
      guard case .networkCommunicationFailed(let cause?, _, _)? = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(cause.localizedDescription.contains("did not confirm the change"))
    }
  }

  @Test("Settings have to be stored and deleted by the service", arguments: answers)
  func settingsHaveToBeStoredAndDeletedByTheService(answer: Answer) async throws {
    let server = try Self.server(answer, .json("{}"))
    let settings = SAPcpmsSettings(
      sapURLSession: SAPURLSession(configuration: .ephemeral), applicationSettingsURL: server.url("/settings"))

    await #expect(throws: SAPcpmsSettingsError.self) { try await settings.store(["a": 1], for: .application) }
    await #expect(throws: SAPcpmsSettingsError.self) { try await settings.delete(for: .application, keyPath: "a") }
  }

  @Test func settingsMayHaveAnError() async throws {
    let server = try LoopbackServer { _ in .json(#"{"error":"red"}"#) }
    let settings = SAPcpmsSettings(
      sapURLSession: SAPURLSession(configuration: .ephemeral), applicationSettingsURL: server.url("/settings"))

    #expect(try await settings.load(for: .application)["error"] as? String == "red")
  }

  @Test func redirectedUploadOfLogsKeepsTheLines() async throws {
    let folder = try TemporaryFolder()
    let upload = LogUpload(LogFiles(in: folder.url))
    try upload.files.prepare()
    upload.publish(
      LogRecord(
        date: Date(), logLevel: .error, loggerName: "Orders", message: "kept", error: nil, file: "a", function: "b",
        line: 1))
    let login = try LoopbackServer { _ in .status(.noContent) }
    let server = try LoopbackServer { _ in .redirect(to: login.url("/").absoluteString) }

    let error = await #expect(throws: SAPcpmsLogUploaderError.self) {
      try await upload.upload(to: server.url("/"), with: SAPURLSession(configuration: .ephemeral))
    }

    guard case .networkError(let cause?, 204, nil)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(cause.localizedDescription.contains("another server"))
    #expect(upload.files.completed().count == 1)
  }

  // MARK: - Other places

  @Test("A key path stays within its settings", arguments: ["..", "a/../../b", "a/.", "./a"])
  func keyPathStaysWithinItsSettings(path: String) async throws {
    let server = try LoopbackServer { _ in .json("{}") }
    let settings = SAPcpmsSettings(
      sapURLSession: SAPURLSession(configuration: .ephemeral), applicationSettingsURL: server.url("/settings"))

    await #expect(throws: SAPcpmsSettingsError.self) { try await settings.delete(for: .application, keyPath: path) }
    await #expect(throws: SAPcpmsSettingsError.self) {
      try await settings.store(["a": 1], for: .application, keyPath: path)
    }
    await #expect(throws: SAPcpmsSettingsError.self) {
      _ = try await settings.load(for: .application, keyPath: path).count
    }

    #expect(server.requests.isEmpty)
  }

  @Test("A device without a usable name has no settings", arguments: ["", ".", ".."])
  func deviceWithoutAUsableNameHasNoSettings(device: String) async throws {
    let server = try LoopbackServer { _ in .json("{}") }
    let parameters = SAPcpmsSettingsParameters(backendURL: server.url("/"), applicationID: "app", deviceID: device)
    let session = SAPURLSession(configuration: .ephemeral)
    let settings = SAPcpmsSettings(sapURLSession: session, settingsParameters: parameters)

    await #expect(throws: SAPcpmsSettingsError.missingValueForSettingsTarget) {
      try await settings.delete(for: .device)
    }
    try await SAPcpmsRemoteNotificationClient(sapURLSession: session, settingsParameters: parameters)
      .registerDeviceToken(Data([1]))

    #expect(server.requests.map(\.path) == ["/mobileservices/push/v1/runtime/applications/app/os/ios/devices"])
  }

  @Test func pathOfADestinationStaysBelowTheBackend() throws {
    let backend = try #require(URL(string: "https://h/app"))
    let parameters = SAPcpmsSettingsParameters(
      backendURL: backend, applicationID: "app", destinations: ["orders": "../../orders/./v2"])

    #expect(parameters.url(destination: "orders").absoluteString == "https://h/app/orders/v2")
  }
}
