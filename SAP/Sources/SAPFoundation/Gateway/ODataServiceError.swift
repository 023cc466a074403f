@_spi(Toolkit) public import MartletSemantics

/// The error of a service, in any format: OData's JSON (V2, V4, older), XML, an API gateway's fault, HTML, plain text,
/// an empty body, or the error in an otherwise successful response: in its `sap-message` field, or as its only content.
///
/// ```swift
/// let (data, response) = try await HTTPSession.shared.data(for: HTTPRequest(.get, url))
/// // A 4xx or 5xx, or an error in a successful response:
/// if let error = ODataServiceError(response.head, body: data) { throw error }
/// ```
///
/// `errorDescription` is the service's text if there is one. Texts of a service have no control characters, and none
/// that change the writing direction. Of a body, the first 128 KiB are read.
public struct ODataServiceError: Error, Sendable, Hashable {
  /// The response's status.
  public let status: HTTPStatus
  /// The service's code; empty if there is none.
  public let code: String
  /// The message for the user: the service's text, or the status's phrase if there is none.
  public let message: String
  /// The language of the text, if the service specifies it.
  public let language: String?
  /// The further errors, without repetitions.
  public let details: [ODataErrorPayload.Detail]
  /// The error in the body, if it has the structure of one.
  public let payload: ODataErrorPayload?
  /// The body.
  public let data: Data

  /// Reads the error of a response; nil for a status below 400, unless the response has a `sap-message` of severity
  /// error, or its content is nothing but an error: `{"error":{"code":…,"message":…}}`.
  public init?(_ head: ResponseHead, body: Data) {
    if let error = ODataErrorPayload.Body.sapMessage(in: head.fields) {
      self.init(head, error, nil, body)
      return
    }
    guard head.status.code >= 400 else {
      guard head.status.isSuccessful, let payload = ODataErrorPayload(ofSuccess: body) else { return nil }
      self.init(head, payload.error, payload, body)
      return
    }
    let payload = ODataErrorPayload(body: body)
    let read = payload?.error ?? ODataErrorPayload.Body(text: ReadableText.of(body))
    self.init(head, read, payload, body)
  }

  private init(_ head: ResponseHead, _ error: ODataErrorPayload.Body, _ payload: ODataErrorPayload?, _ data: Data) {
    status = head.status
    code = error.code
    message = error.text ?? head.statusText
    language = error.message.language
    details = error.details
    self.payload = payload
    self.data = data
  }
}

extension ODataServiceError: LocalizedError, CustomStringConvertible, CustomReflectable {
  /// The service's text.
  public var errorDescription: String? { message }

  /// The status and the code, for support.
  public var failureReason: String? { code.isEmpty ? "\(status)" : "\(status), \(code)" }

  /// Text, status and code.
  public var description: String { "\(message) (\(failureReason ?? ""))" }

  /// A mirror without the bytes of the body.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "status": status, "code": code, "message": message, "language": language as Any, "details": details,
        "payload": payload as Any, "data": "\(data)",
      ])
  }
}

extension ODataErrorPayload {
  /// Reads the error in a JSON or XML body; nil if there is none. Of a longer body, the first 128 KiB are read.
  public init?(body: Data) {
    let bytes = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(body.dropFirst(3)) : body
    let document = ReadableText.isMarkup(bytes) ? XMLAsJSON.read(bytes) : JSONValue(beginningOf: bytes)
    guard let document, let error = Body(document: document) else { return nil }
    self.init(error: error)
  }

  /// Reads the error that a service sends with a 2xx status; nil if the content has anything else, or the error has
  /// neither a code nor a text. An entity may have a property with the name `error`, beside annotations or others.
  init?(ofSuccess body: Data) {
    let start = body.prefix(64).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
    guard start.first == UInt8(ascii: "{"),
      [#""error""#, #""odata.error""#].contains(where: {
        start.dropFirst().drop { $0 <= 0x20 }.starts(with: $0.utf8)
      }), case .object(let members)? = JSONValue(beginningOf: body), members.count == 1,
      let error = Body(document: .object(members)), error.text != nil || !error.code.isEmpty
    else { return nil }
    self.init(error: error)
  }
}

extension ODataErrorPayload.Body {
  /// Makes an error with a text only.
  init(text: String) {
    self.init(code: "", message: .init(language: nil, value: text), target: nil, inner: nil, details: [])
  }

  /// The text for the user: the message, otherwise the first one of a detail; nil if there is none.
  var text: String? { ([message.value] + details.map(\.message)).first { !$0.isEmpty } }

  /// Returns the error in `sap-message` (V2: one message with details) or `sap-messages` (V4: an array); nil if no
  /// message is an error.
  static func sapMessage(in fields: HTTPFields) -> Self? {
    let errors = sapMessages(in: fields).filter { ODataErrorPayload.Severity($0) == .error }
    guard let first = errors.first else { return nil }
    return Self(document: .object(["error": first.adding(details: Array(errors.dropFirst()))]))
  }

  /// Returns all messages of the field, of any severity.
  fileprivate static func sapMessages(in fields: HTTPFields) -> [JSONValue] {
    guard let text = fields["sap-message"] ?? fields["sap-messages"],
      let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    else { return [] }
    return value.elements.flatMap { [$0] + ($0["details"]?.elements ?? []) }
  }
}

extension ResponseHead {
  /// The messages that SAP Gateway sends in addition to a successful response, such as a warning. They come from the
  /// field `sap-message` (OData V2) or `sap-messages` (V4), with their details, in order. Empty if there is no such
  /// field, or it cannot be read.
  ///
  /// An error among them is also an ``ODataServiceError``.
  ///
  /// ```swift
  /// let (_, response) = try await HTTPSession.shared.data(for: HTTPRequest(.post, url))
  /// for message in response.head.sapMessages where message.severity == .warning { print(message.message) }
  /// ```
  public var sapMessages: [ODataErrorPayload.Detail] {
    ODataErrorPayload.Detail.list(.array(ODataErrorPayload.Body.sapMessages(in: fields)))
  }
}

extension JSONValue {
  fileprivate func adding(details: [JSONValue]) -> JSONValue {
    guard case .object(var members) = self else { return self }
    members["details"] = .array(details)
    return .object(members)
  }
}

/// Extracts a readable text from a body without a known structure.
enum ReadableText {
  /// The maximum number of characters in a text. A longer text is a page rather than a message.
  private static let lengthLimit = 500
  /// The maximum number of bytes that are read: a body may be long, and its text is at the beginning.
  private static let sizeLimit = 64 << 10

  /// Returns plain text unchanged. For an HTML page, returns its title and first heading. Only the first 64 KiB count.
  static func of(_ body: Data) -> String {
    let start = body.prefixOfText(sizeLimit)
    let text = String(data: start, encoding: .utf8) ?? String(data: start, encoding: .isoLatin1) ?? ""
    let readable = isMarkup(body) ? headline(of: text) : text
    let line = readable.printable.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return line.count > lengthLimit ? line.prefix(lengthLimit) + "…" : line
  }

  static func isMarkup(_ body: Data) -> Bool {
    body.first { $0 > 0x20 && ![0xEF, 0xBB, 0xBF].contains($0) } == UInt8(ascii: "<")
  }

  private static func headline(of page: String) -> String {
    var lines: [String] = []
    for element in ["title", "h1", "h2"] {
      guard let line = content(of: element, in: page), !line.isEmpty, !lines.contains(line) else { continue }
      lines.append(line)
      if lines.count == 2 { break }
    }
    return lines.joined(separator: ": ")
  }

  private static func content(of element: String, in page: String) -> String? {
    guard let start = page.range(of: "<\(element)", options: .caseInsensitive),
      let open = page.range(of: ">", range: start.upperBound..<page.endIndex),
      let end = page.range(of: "</\(element)", options: .caseInsensitive, range: open.upperBound..<page.endIndex)
    else { return nil }
    return unescaped(withoutTags(page[open.upperBound..<end.lowerBound]))
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func withoutTags(_ text: Substring) -> String {
    var isInTag = false
    return String(
      text.filter { character in
        if character == "<" { isInTag = true }
        defer { if character == ">" { isInTag = false } }
        return !isInTag
      })
  }

  private static func unescaped(_ text: String) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")]
      .reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }
}
