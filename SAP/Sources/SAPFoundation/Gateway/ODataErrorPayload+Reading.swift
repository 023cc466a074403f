@_spi(Toolkit) import MartletSemantics
#if canImport(FoundationXML)
import FoundationXML
#endif

extension ODataErrorPayload.Body {
  /// Finds the error in a document; nil if there is none.
  init?(document: JSONValue) {
    if let fault = document["fault"] {  // an API gateway's
      guard let text = fault.first("faultstring", "message")?.text else { return nil }
      let code = fault["detail"]?["errorcode"]?.text ?? fault.first("faultcode", "code")?.text
      self.init(code: code ?? "", message: .init(language: nil, value: text), target: nil, inner: nil, details: [])
      return
    }
    if let exception = document["exception"] {
      self.init(exception: exception)
      return
    }
    guard let error = document.first("error", "odata.error") else { return nil }
    self.init(error)
  }

  /// Reads the `<exc:exception>` of ABAP's communication framework, which the services of the ABAP Development Tools
  /// send. Its type is used as the code.
  private init?(exception: JSONValue) {
    let code = exception["type"].flatMap { $0["id"]?.text ?? $0.text } ?? ""
    let messages = [exception["localizedMessage"], exception["message"]].map { ODataErrorPayload.Message($0) }
    let message = messages.first { !$0.value.isEmpty }
    guard message != nil || !code.isEmpty else { return nil }
    self.init(
      code: code, message: message ?? ODataErrorPayload.Message(nil), target: nil, inner: nil, details: [])
  }

  private init?(_ error: JSONValue) {
    if let text = error.text {
      // {"error": "invalid_client", "error_description": "…"}, or a sentence
      self.init(code: "", message: .init(language: nil, value: text), target: nil, inner: nil, details: [])
      return
    }
    guard case .object = error else { return nil }
    let inner = error["innererror"].map { ODataErrorPayload.Inner($0["ErrorDetails"] ?? $0) }
    let code = error["code"]?.text ?? ""
    let message = ODataErrorPayload.Message(error["message"])
    let target = error["target"]?.text
    let own = error["details"].map(ODataErrorPayload.Detail.list) ?? []
    self.init(
      code: code, message: message, target: target, inner: inner,
      details: (own.isEmpty ? inner?.details ?? [] : own).withoutRepetitions(of: message.value, at: target))
  }
}

extension ODataErrorPayload.Message {
  /// Reads a text, an object with a text and a language, or nothing.
  init(_ value: JSONValue?) {
    self.init(language: value?.first("lang", "xml:lang")?.text, value: value?.text ?? value?["value"]?.text ?? "")
  }
}

extension ODataErrorPayload.Inner {
  init(_ inner: JSONValue) {
    let resolution = inner.first("Error_Resolution") ?? inner.term("ErrorResolution")
    self.init(
      application: (inner["application"] ?? inner.term("Application")).flatMap(ODataErrorPayload.Application.init),
      transactionId: (inner["transactionid"] ?? inner.term("TransactionId"))?.text,
      timestamp: (inner["timestamp"] ?? inner.term("Timestamp"))?.text,
      resolution: resolution.flatMap(ODataErrorPayload.Resolution.init),
      details: inner.first("errordetails", "details").map(ODataErrorPayload.Detail.list) ?? [])
  }
}

extension ODataErrorPayload.Application {
  init?(_ value: JSONValue) {
    guard case .object = value else { return nil }
    self.init(
      componentId: value.first("component_id", "ComponentId")?.text,
      serviceNamespace: value.first("service_namespace", "ServiceRepository")?.text,
      serviceId: value.first("service_id", "ServiceId")?.text,
      serviceVersion: value.first("service_version", "ServiceVersion")?.text)
  }
}

extension ODataErrorPayload.Resolution {
  init?(_ value: JSONValue) {
    guard case .object = value else { return nil }
    self.init(
      transaction: value.first("SAP_Transaction", "Analysis")?.text, note: value.first("SAP_Note", "Note")?.text)
  }
}

extension ODataErrorPayload.Detail {
  /// Reads an array of details, an object that contains one or several (`errordetail`, `detail`), one detail, or texts.
  static func list(_ value: JSONValue) -> [Self] {
    let isOne = value.first("code", "message") != nil
    return (isOne ? value : value.first("errordetail", "detail") ?? value).elements.compactMap(Self.init)
  }

  private init?(_ value: JSONValue) {
    let text = value.text
    let message = ODataErrorPayload.Message(value["message"]).value
    let code = value["code"]?.text ?? ""
    guard text != nil || !message.isEmpty || !code.isEmpty else { return nil }
    self.init(
      code: code, message: text ?? message, propertyRef: value["propertyref"]?.text, target: value["target"]?.text,
      severity: ODataErrorPayload.Severity(value), transition: value["transition"]?.boolean ?? false)
  }
}

extension ODataErrorPayload.Severity {
  /// Reads a name, or the vocabulary's number: 1 success, 2 info, 3 warning, 4 error.
  init?(_ value: JSONValue) {
    if let name = (value["severity"] ?? value.term("Severity"))?.text?.lowercased(), let named = Self(name: name) {
      self = named
      return
    }
    switch (value["numericSeverity"] ?? value.term("numericSeverity"))?.text {
    case "1": self = .success
    case "2": self = .info
    case "3": self = .warning
    case "4": self = .error
    default: return nil
    }
  }

  private init?(name: String) {
    switch name {
    case "information": self = .info
    case "abort", "fatal": self = .error
    default: self.init(rawValue: name)
    }
  }
}

extension [ODataErrorPayload.Detail] {
  /// Returns the details without repetitions of the outer error or of each other. The same message about another target
  /// or property is another error.
  ///
  /// - Parameters:
  ///   - message: the outer error's message; empty if it has none, and then no detail repeats it.
  ///   - target: the outer error's target.
  fileprivate func withoutRepetitions(of message: String, at target: String?) -> Self {
    var seen: Set<[String]> = []
    return filter { detail in
      let hasOwnTarget = [detail.target, detail.propertyRef].contains { $0 != nil && $0 != target }
      guard message.isEmpty || detail.message != message || hasOwnTarget else { return false }
      return seen.insert([detail.code, detail.message, detail.target ?? "", detail.propertyRef ?? ""]).inserted
    }
  }
}

// Lenient access to JSON whose structure may vary.
extension JSONValue {
  /// The member of an object; nil for anything else, and for null.
  subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
    return value
  }

  /// Returns the first of these members that exists.
  func first(_ names: String...) -> JSONValue? {
    for name in names { if let value = self[name] { return value } }
    return nil
  }

  /// Returns the member with a vocabulary's term; the alias before it varies (`@Common.`, `@SAP__common.`).
  func term(_ suffix: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    let end = "." + suffix.lowercased()
    let name = members.keys.lazy.filter { $0.hasPrefix("@") && $0.lowercased().hasSuffix(end) }.min()
    return name.flatMap { self[$0] }
  }

  /// The text of a scalar, in a form that can be shown; numbers and Booleans as text. nil for arrays, objects, null and
  /// empty text.
  var text: String? {
    switch self {
    case .string(let text): text.isEmpty ? nil : text.printable
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .bool(let value): "\(value)"
    case .null, .array, .object: nil
    }
  }

  /// The Boolean, written as a Boolean or as text.
  var boolean: Bool? {
    switch self {
    case .bool(let value): value
    case .string(let text): Bool(text.lowercased())
    default: nil
    }
  }

  /// The elements of an array. null has none. Any other value is its own only element.
  var elements: [JSONValue] {
    switch self {
    case .array(let elements): elements
    case .null: []
    default: [self]
    }
  }
}

// Errors are read from the beginning of a body: one with a hundred thousand details must not take long.
extension JSONValue {
  /// The maximum number of bytes that are read of an error.
  fileprivate static let sizeLimit = 128 << 10

  /// Reads a JSON document, or the beginning of a longer one; nil if it is not JSON.
  init?(beginningOf body: Data) {
    let document = body.count > Self.sizeLimit ? Self.closed(Array(body.prefix(Self.sizeLimit))) : body
    guard let json = try? ExactJSON(document) else { return nil }
    self.init(json)
  }

  private init(_ json: ExactJSON) {
    switch json {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .number(let digits): self = Int64(digits).map { .integer($0) } ?? .number(Double(digits) ?? .nan)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .array(elements.map { JSONValue($0) })
    case .object(let members): self = .object(members.mapValues { JSONValue($0) })
    }
  }

  /// Returns a document that is cut off as a complete one: up to its last complete value, with all objects and arrays
  /// closed.
  private static func closed(_ bytes: [UInt8]) -> Data {
    var tokens = JSONTokens(bytes)
    var open: [UInt8] = []
    var (end, closings) = (0, open)
    while let token = tokens.next() {
      switch token.kind {
      case .opening: open.append(bytes[token.range.lowerBound] + 2)  // { and }, [ and ] are two code points apart
      case .closing:
        _ = open.popLast()
        (end, closings) = (token.range.upperBound, open)
      case .comma: (end, closings) = (token.range.lowerBound, open)
      default: break
      }
    }
    return Data(bytes[..<end] + closings.reversed())
  }
}

/// Reads XML as JSON, so that the same code reads errors in both formats. An element with children becomes an object,
/// one with text a string, and repeated ones an array. Attributes are dropped, except for the language and the `id` of
/// an element without content.
final class XMLAsJSON: NSObject, XMLParserDelegate {
  fileprivate struct Element {
    var name = ""
    var members: [String: [JSONValue]] = [:]
    var text = ""
    var language: String?
    var id: String?
  }

  private var open: [Element] = [Element()]
  private var isAborted = false
  /// The maximum depth that is read, to protect against malicious documents.
  private static let depthLimit = 64

  /// Returns the document, or the beginning of a longer one, as an object with the root element as its member; nil if
  /// it is not XML.
  static func read(_ data: Data) -> JSONValue? {
    let reader = XMLAsJSON()
    let parser = XMLParser(data: data.prefix(JSONValue.sizeLimit))
    parser.delegate = reader
    parser.shouldResolveExternalEntities = false
    let isRead = parser.parse()
    if data.count > JSONValue.sizeLimit, !reader.isAborted {
      _ = reader.open.count > 1 ? reader.open.popLast() : nil  // the last one, which may be cut off
      while reader.open.count > 1 { reader.close() }
    } else if !isRead {
      return nil
    }
    guard let root = reader.open.first, reader.open.count == 1, !root.members.isEmpty else { return nil }
    return .object(root.object)
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    guard open.count < Self.depthLimit else {
      isAborted = true
      return parser.abortParsing()
    }
    let name = name.split(separator: ":").last.map(String.init) ?? name
    open.append(Element(name: name, language: attributes["xml:lang"] ?? attributes["lang"], id: attributes["id"]))
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) { open[open.count - 1].text += text }

  func parser(_ parser: XMLParser, foundCDATA data: Data) {
    open[open.count - 1].text += String(decoding: data, as: UTF8.self)
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    close()
  }

  /// Ends the innermost element.
  private func close() {
    guard open.count > 1, let element = open.popLast() else { return }
    open[open.count - 1].members[element.name, default: []].append(element.value)
  }
}

extension XMLAsJSON.Element {
  /// The members; one that is repeated is an array.
  fileprivate var object: [String: JSONValue] {
    members.mapValues { $0.count == 1 ? $0[0] : .array($0) }
  }

  fileprivate var value: JSONValue {
    let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
    let text = JSONValue.string(trimmed)
    if let id, members.isEmpty, trimmed.isEmpty { return .object(["id": .string(id)]) }
    guard members.isEmpty else {
      return .object(language.map { object.merging(["lang": .string($0)]) { $1 } } ?? object)
    }
    return language.map { .object(["lang": .string($0), "value": text]) } ?? text
  }
}
