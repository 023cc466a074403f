public import Foundation
public import MartletSemantics

/// What a service says went wrong, whatever it said it in: OData's JSON (V2, V4, older), XML, an API gateway's fault, HTML,
/// plain text, nothing at all, or the `sap-message` field of an otherwise successful response.
///
/// ```swift
/// let (data, response) = try await HTTPSession.shared.data(for: HTTPRequest(.get, url))
/// if let error = ODataServiceError(response.head, body: data) { throw error }   // a 4xx or 5xx, or an error in sap-message
/// ```
///
/// `errorDescription` is the service's own text where there is one.
public struct ODataServiceError: Error, Sendable, Hashable {
  /// The response's status.
  public let status: HTTPStatus
  /// The service's code; empty if there is none.
  public let code: String
  /// What happened, for people: the service's text, or the status's phrase where it gave none.
  public let message: String
  /// The text's language, where the service names it.
  public let language: String?
  /// The further errors, without repetitions.
  public let details: [ODataErrorPayload.Detail]
  /// The structure that was read, if there was one.
  public let payload: ODataErrorPayload?
  /// The body as it came.
  public let data: Data

  /// Reads the error of a response; nil if it is none: a status below 400 without a `sap-message` of severity error.
  public init?(_ head: ResponseHead, body: Data) {
    if let told = ODataErrorPayload.Body.sapMessage(in: head.fields) {
      self.init(head.status, told, nil, body)
      return
    }
    guard head.status.code >= 400 else { return nil }
    let payload = ODataErrorPayload(body: body)
    let read = payload?.error ?? ODataErrorPayload.Body(text: ReadableText.of(body))
    self.init(head.status, read, payload, body)
  }

  private init(_ status: HTTPStatus, _ error: ODataErrorPayload.Body, _ payload: ODataErrorPayload?, _ data: Data) {
    let text = error.message.value.isEmpty ? error.details.first?.message : error.message.value
    self.status = status
    code = error.code
    message = text ?? "\(status)"
    language = error.message.language
    details = error.details
    self.payload = payload
    self.data = data
  }
}

extension ODataServiceError: LocalizedError, CustomStringConvertible {
  /// The service's text.
  public var errorDescription: String? { message }

  /// The status and the code, for whoever has to look for the cause.
  public var failureReason: String? { code.isEmpty ? "\(status)" : "\(status), \(code)" }

  /// Text, status and code.
  public var description: String { "\(message) (\(failureReason ?? ""))" }
}

extension ODataErrorPayload {
  /// Reads an error's body, JSON or XML; nil if it is neither or holds no error.
  public init?(body: Data) {
    let bytes = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(body.dropFirst(3)) : body
    if let payload = try? JSONDecoder().decode(ODataErrorPayload.self, from: bytes) {
      self = payload
    } else if ReadableText.isMarkup(bytes), let document = XMLAsJSON.read(bytes), let error = Body(document: document) {
      self.init(error: error)
    } else {
      return nil
    }
  }
}

extension ODataErrorPayload.Body {
  /// An error of which only a text is known.
  init(text: String) {
    self.init(code: "", message: .init(language: nil, value: text), target: nil, inner: nil, details: [])
  }

  /// The error in `sap-message` (V2: one message with details) or `sap-messages` (V4: an array); nil if none is an error.
  static func sapMessage(in fields: HTTPFields) -> Self? {
    guard let text = fields["sap-message"] ?? fields["sap-messages"],
      let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    else { return nil }
    let messages = value.elements.flatMap { [$0] + ($0["details"]?.elements ?? []) }
    let errors = messages.filter { ODataErrorPayload.Severity($0) == .error }
    guard let first = errors.first else { return nil }
    return Self(document: .object(["error": first.adding(details: Array(errors.dropFirst()))]))
  }
}

extension JSONValue {
  fileprivate func adding(details: [JSONValue]) -> JSONValue {
    guard case .object(var members) = self else { return self }
    members["details"] = .array(details)
    return .object(members)
  }
}
