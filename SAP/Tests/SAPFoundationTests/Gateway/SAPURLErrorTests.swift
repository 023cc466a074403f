import Foundation
import MartletEngine
import MartletSemantics
import SAPFoundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

private func response(_ status: Int, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
  let url = try #require(URL(string: "https://gateway.example.com/Images('a')/$value"))
  return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
}

private let payload = Data(
  #"{"error":{"code":"SY/530","message":{"lang":"de","value":"Bild nicht gefunden"}}}"#.utf8)

@Suite("The errors of the article")
struct SAPURLErrorTests {
  enum Kind: Sendable { case good, requestFailed, redirection, client, server, other, unknown }

  private func kind(_ error: SAPURLError?) -> Kind {
    switch error {
    case nil: .good
    case .requestFailed: .requestFailed
    case .redirection: .redirection
    case .client: .client
    case .server: .server
    case .other: .other
    case .unknown: .unknown
    }
  }

  @Test(
    arguments: [
      (200, .good), (204, .good), (299, .good), (301, .redirection), (304, .redirection), (400, .client),
      (404, .client),
      (499, .client), (500, .server), (503, .server), (599, .server), (101, .unknown), (600, .unknown),
    ] as [(Int, Kind)])
  func theStatusDecides(_ status: Int, _ expected: Kind) throws {
    #expect(kind(SAPURLError(response: try response(status), data: Data())) == expected)
  }

  @Test(arguments: [400, 503])
  func thePayloadOfARefusalAndOfAFailureIsKept(_ status: Int) throws {
    let error = SAPURLError(response: try response(status), data: payload)
    switch error {
    case .client(_, let payload?), .server(_, let payload?):
      #expect(payload.error.code == "SY/530")
      #expect(payload.error.message.language == "de")
    default: Issue.record("there is no payload in \(String(describing: error))")
    }
  }

  @Test func whatIsNoResponseOfHTTPIsUnknown() throws {
    let url = try #require(URL(string: "file:///x"))
    let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
    #expect(kind(SAPURLError(response: response, data: Data())) == .unknown)
  }

  struct Odd: Error {}

  @Test(
    arguments: [
      (URLError(.timedOut), .requestFailed), (CancellationError(), .requestFailed),
      (NSError(domain: NSURLErrorDomain, code: URLError.notConnectedToInternet.rawValue), .requestFailed),
      (Odd(), .other), (SAPURLSessionError.failedToRetriveCSRFToken(nil), .other), (SAPURLError.unknown, .unknown),
    ] as [(any Error, Kind)])
  func anyErrorFindsItsCase(_ error: any Error, _ expected: Kind) {
    #expect(kind(SAPURLError(error)) == expected)
  }

  @Test func theCodeOfABridgedErrorIsKept() {
    let error = SAPURLError(NSError(domain: NSURLErrorDomain, code: URLError.timedOut.rawValue))
    guard case .requestFailed(let error) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(error.code == .timedOut)
  }

  @Test func checkedGivesTheBytesOrThrows() throws {
    #expect(try SAPURLError.checked(Data("a".utf8), try response(200)) == Data("a".utf8))
    #expect(throws: SAPURLError.self) { try SAPURLError.checked(payload, try response(404)) }
  }

  @Test(arguments: [
    ["com.sap.cloud.security.login": "login-request"], ["x-smp-authentication": "otp-challenge"],
  ])
  func aLoginPageIsNoGoodAnswer(_ fields: [String: String]) throws {
    guard case .other(let error) = SAPURLError(response: try response(200, fields), data: Data("<html>".utf8)) else {
      Issue.record("a login page passed for an answer")
      return
    }
    #expect(error is SAPLoginRequiredError)
    #expect(error.localizedDescription.contains("service requires"))
  }

  @Test(arguments: [
    (200, "error", Kind.other), (200, "warning", .good), (404, "error", .client), (500, "error", .server),
  ])
  func aMessageFieldCountsWithEveryStatus(_ status: Int, _ severity: String, _ expected: Kind) throws {
    let field = #"{"code":"ZX/1","message":"Aus dem Feld","severity":"\#(severity)"}"#
    let error = SAPURLError(response: try response(status, ["sap-message": field]), data: Data())

    #expect(kind(error) == expected)
    #expect(error == nil || error?.errorDescription == "Aus dem Feld")
  }
}

@Suite("Localized errors, the service's own text first")
struct LocalizedErrorTests {
  @Test func theServicesTextIsTheDescription() throws {
    let error = try #require(SAPURLError(response: try response(404), data: payload))
    #expect(error.localizedDescription == "Bild nicht gefunden")
    #expect(error.failureReason == "404 Not Found, SY/530")
  }

  @Test func theTextOfTheBodyOverridesThatOfTheField() throws {
    let fields = ["sap-message": #"{"code":"Z","message":"Feld","severity":"error"}"#]
    let error = try #require(SAPURLError(response: try response(400, fields), data: payload))
    #expect(error.errorDescription == "Bild nicht gefunden")
  }

  @Test func withoutATextThereIsTheStatus() throws {
    let error = try #require(SAPURLError(response: try response(503), data: Data()))
    #expect(error.errorDescription == "503 Service Unavailable")
  }

  @Test func otherErrorsKeepTheirText() {
    let inner = SAPURLSessionError.failedToRetriveCSRFToken("https://example.com/")
    #expect(SAPURLError(inner).localizedDescription == inner.localizedDescription)
    #expect(SAPURLError.unknown.errorDescription?.isEmpty == false)
  }
}

@Suite("The payload of an error, whatever the body is")
struct PayloadTests {
  @Test(arguments: [
    ("", false), ("<html><body>no</body></html>", false), ("plain", false), (#"{"other":1}"#, false),
    ("\u{FEFF}" + #"{"error":{"code":"A","message":"B"}}"#, true), (#"{"error":{"code":1,"message":"B"}}"#, true),
    ("<error><code>A</code><message>B</message></error>", true),
  ])
  func onlyAnErrorThatCanBeReadIsAPayload(_ body: String, _ expected: Bool) throws {
    guard case .client(let response, let payload) = SAPURLError(response: try response(404), data: Data(body.utf8))
    else {
      Issue.record("a 404 is a client's error")
      return
    }
    #expect((payload != nil) == expected)
    #expect(response.statusCode == 404)
  }
}

/// The article's own enum, declared in an app: it must not conflict with this module's.
extension SAPURLSession {
  fileprivate enum SAPURLError: Error {
    case requestFailed(URLError)
    case redirection(HTTPURLResponse)
    case client(HTTPURLResponse, ODataErrorPayload?)
    case server(HTTPURLResponse)
    case unknown

    init(_ error: any Error) {
      switch error {
      case let error as SAPURLError: self = error
      case let error as URLError: self = .requestFailed(error)
      default: self = .unknown
      }
    }
  }

  fileprivate static func told(_ response: HTTPURLResponse, _ data: Data) -> SAPURLError {
    .client(response, try? JSONDecoder().decode(ODataErrorPayload.self, from: data))
  }
}

@Suite("The article's own enum")
struct OwnEnumTests {
  @Test func anAppsOwnEnumOfTheNameIsItsOwn() throws {
    guard case .client(_, let payload) = SAPURLSession.told(try response(404), payload) else {
      Issue.record("it is the app's own")
      return
    }
    #expect(payload?.error.message.value == "Bild nicht gefunden")
    let error: SAPURLSession.SAPURLError = .init(URLError(.timedOut))
    #expect({ if case .requestFailed = error { true } else { false } }())
  }
}
