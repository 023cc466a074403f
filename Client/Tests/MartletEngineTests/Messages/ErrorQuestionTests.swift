@_spi(Toolkit) import MartletEngine
import MartletSemantics
import TestSupport
import Testing

/// The properties by which a program classifies an error.
struct ErrorQuestionTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let kind: HTTPError.Kind
    var phase: HTTPError.Phase?
    var status: HTTPStatus?
    let yes: Set<String>

    init(_ kind: HTTPError.Kind, in phase: HTTPError.Phase? = nil, status: HTTPStatus? = nil, _ yes: String...) {
      (self.kind, self.phase, self.status, self.yes) = (kind, phase, status, Set(yes))
    }

    var testDescription: String { "\(kind) \(phase?.rawValue ?? "") \(status.map { "\($0)" } ?? "")" }
  }

  static let network: [Row] = [
    Row(.cannotResolveHost, "unsent", "unreachable", "transient", "no connection"),
    Row(.cannotConnect, "unsent", "unreachable", "transient", "no connection"),
    Row(.cannotConnect, in: .sending, "unreachable", "transient"),  // of a body, whose source is another server
    Row(.connectTimeout, "unsent", "unreachable", "transient", "timeout", "no connection"),
    Row(.proxyFailed, in: .connecting, "unsent", "unreachable", "transient"),
    Row(.proxyFailed, in: .waiting, "unreachable", "transient"),
    Row(.connectionLost, in: .sending, "unreachable", "transient"),
    Row(.connectionLost, in: .connecting, "unsent", "unreachable", "transient"),
    Row(.responseTimeout, in: .waiting, "unreachable", "transient", "timeout"),
    Row(.responseTimeout, in: .connecting, "unsent", "unreachable", "transient", "timeout"),
    Row(.idleTimeout, in: .receiving, "unreachable", "transient", "timeout"),
    Row(.tooSlow, in: .receiving, "transient", "timeout"), Row(.tooSlow, in: .sending, "transient", "timeout"),
    Row(.deadlineExceeded, in: .receiving, "transient", "timeout"),
    Row(.poolTimeout, in: .queued, "unsent", "transient", "timeout"),
    Row(.concurrencyLimit, "unsent", "transient"), Row(.rateLimited, "unsent", "transient"),
    Row(.circuitOpen, "unsent", "unreachable", "transient"),
    Row(.addressRefused, in: .connecting, "unsent", "caller"),
  ]

  static let security: [Row] = [
    Row(.untrustedCertificate, in: .securing, "unsent", "tls", "server"), Row(.pinMismatch, "unsent", "tls", "server"),
    Row(.tlsFailed, in: .securing, "unsent", "tls", "server"), Row(.tlsFailed, in: .waiting, "tls", "server"),
    // in TLS 1.3 the refusal of a certificate may come after the request was sent
    Row(.badClientCertificate, in: .waiting, "tls", "caller"), Row(.badClientCertificate, "tls", "caller"),
    Row(.badClientCertificate, in: .securing, "unsent", "tls", "caller"),
    Row(.badClientCertificatePassword, "unsent", "tls", "caller"),
    Row(.authenticationFailed, in: .preparing, "unsent"),
  ]

  static let content: [Row] = [
    Row(.protocolViolation, in: .receiving, "server"), Row(.headTooLarge, in: .receiving, "server"),
    Row(.undecodableBody, in: .receiving, "server"), Row(.tooManyRedirects, "server"), Row(.redirectRefused, "caller"),
    Row(.digestMismatch, in: .receiving, "server"),
    Row(.bodyTooLarge, in: .receiving), Row(.bodyAlreadyRead, in: .receiving, "caller"),
    Row(.bodyNotReplayable, in: .sending, "caller"), Row(.tooManyAttempts), Row(.file), Row(.shutDown, "caller"),
    Row(.other, in: .sending), Row(.invalidRequest, "unsent", "caller"), Row(.notCached, "unsent"),
    Row(.cancelled, in: .sending, "cancelled"),
    Row(.unexpectedResponse, in: .receiving), Row(.unexpectedResponse, in: .receiving, status: .ok, "server"),
    Row(.unexpectedResponse, in: .receiving, status: .notFound, "caller"),
    Row(.unexpectedResponse, in: .receiving, status: .tooManyRequests, "transient"),
    Row(.unexpectedResponse, in: .receiving, status: .internalServerError, "server"),
    Row(.unexpectedResponse, in: .receiving, status: .serviceUnavailable, "server", "transient"),
  ]

  @Test(arguments: network + security + content)
  func aKindAnswersEachQuestion(_ row: Row) {
    var error = HTTPError(row.kind, "", phase: row.phase)
    error.response = row.status.map { ResponseHead(status: $0) }
    let answers = [
      "cancelled": error.isCancelled, "timeout": error.isTimeout, "tls": error.isTLSFailure, "unsent": error.isUnsent,
      "unreachable": error.isUnreachable, "transient": error.isTransient, "server": error.isServerFault,
      "caller": error.isCallerFault, "no connection": error.lacksConnection,
    ]

    #expect(Set(answers.filter(\.value).keys) == row.yes)
  }

  @Test func everyKindIsAskedEachQuestionAndKnownByItsName() throws {
    let kinds = try PublicAPI(of: "MartletEngine").constants(of: "HTTPError.Kind")
    #expect(Set((Self.network + Self.security + Self.content).map(\.kind.name)) == kinds)
    for name in kinds { #expect(HTTPError.Kind(name: name)?.name == name) }
    #expect(HTTPError.Kind(name: "unheardOf") == nil)
  }

  @Test func theAdviceOfTheArticleIsSound() {
    func advice(_ error: HTTPError) -> String {
      if error.isCancelled || error.kind == .deadlineExceeded { return "nothing" }
      if error.isTransient { return error.isUnsent ? "send it again" : "send it again if it is idempotent" }
      if error.isServerFault { return "report it: \(error.message)" }
      if error.isCallerFault { return "mend the program: \(error.message)" }
      return "tell the user: \(error.message)"
    }

    #expect(advice(HTTPError(.cannotConnect, "")) == "send it again")
    #expect(advice(HTTPError(.connectionLost, "", phase: .waiting)) == "send it again if it is idempotent")
    #expect(advice(HTTPError(.pinMismatch, "another key")) == "report it: another key")
    #expect(advice(HTTPError(.invalidRequest, "no host")) == "mend the program: no host")
    #expect(advice(HTTPError(.authenticationFailed, "no login")) == "tell the user: no login")
    #expect(advice(HTTPError(.deadlineExceeded, "over")) == "nothing")
  }
}
