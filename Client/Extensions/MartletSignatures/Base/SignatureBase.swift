import MartletSemantics

/// The text that is signed (RFC 9421 §2.5): a line for each component, and the input at the end.
struct SignatureBase {
  /// The lines, separated by line feeds, in ASCII.
  let text: String

  /// - Throws: ``SignatureError`` of kind `.unknownComponent` with the identifier if a component has no value.
  init(_ input: SignatureInput, of context: SignatureContext) throws(SignatureError) {
    var lines: [String] = []
    var known: Set<[String]> = []
    for component in input.components {
      guard known.insert(component.identity).inserted else { throw component.error("is covered twice") }
      lines.append("\(component): \(try ComponentValue(component, of: context).text)")
    }
    do {
      lines.append("\"@signature-params\": \(try input.member.serialized())")
    } catch {
      throw SignatureError(.malformedSignature, "the parameters of the signature cannot be sent: \(error.description)")
    }
    text = lines.joined(separator: "\n")
  }
}

extension SignatureComponent {
  func error(_ problem: String) -> SignatureError {
    SignatureError(.unknownComponent, "the component \(self) \(problem)")
  }
}

/// The canonical value of a component (RFC 9421 §2.1, §2.2).
private struct ComponentValue {
  let text: String

  init(_ component: SignatureComponent, of context: SignatureContext) throws(SignatureError) {
    for (key, value) in component.parameters {
      let isKnown = ["sf", "bs", "req", "tr"].contains(key) && value == .boolean(true)
      var isText = false
      if case .string = value { isText = key == "key" || key == "name" }
      guard isKnown || isText else { throw component.error("has a parameter that is not defined for it: '\(key)'") }
    }
    let isOfRequest = component.parameters["req"] != nil
    guard !isOfRequest || context.response != nil else {
      throw component.error("has 'req', but the message is a request (RFC 9421 §2.4)")
    }
    var context = context
    if isOfRequest {
      guard let request = context.request else { throw component.error("is of the request, which is not known") }
      let (target, types) = (context.requestTarget, context.structuredFields)
      let trailers = context.requestTrailers
      context = SignatureContext(request)
      (context.requestTarget, context.structuredFields, context.trailers) = (target, types, trailers)
    }
    text =
      component.name.hasPrefix("@")
      ? try Self.derived(component, from: context) : try Self.field(component, from: context)
  }

  // MARK: - Derived components (§2.2)

  private static func derived(
    _ component: SignatureComponent, from context: SignatureContext
  ) throws(SignatureError) -> String {
    for (key, _) in component.parameters where key != "req" && !(key == "name" && component.name == "@query-param") {
      throw component.error("has a parameter that is not defined for it: '\(key)'")
    }
    let value: String
    if component.name == "@status" {
      guard let response = context.response else { throw component.error("is that of a response, not of a request") }
      value = String(response.status.code)
    } else {
      guard context.response == nil, let request = context.request else {
        throw component.error("is that of a request: add 'req' to cover it in a response, or leave it out")
      }
      value = try Self.derived(component, from: request, target: context.requestTarget)
    }
    guard value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !value.hasPrefix(" "), !value.hasSuffix(" ") else {
      throw component.error("has characters that a signature cannot cover")
    }
    return value
  }

  private static func derived(
    _ component: SignatureComponent, from request: RequestHead, target: String?
  ) throws(SignatureError) -> String {
    if component.name == "@method" { return request.method.rawValue }
    guard let parts = TargetParts(request) else { throw component.error("needs an absolute http or https URL") }
    switch component.name {
    case "@target-uri": return "\(parts.scheme)://\(parts.authority)\(parts.target)"
    case "@authority": return parts.authority
    case "@scheme": return parts.scheme
    case "@request-target":
      if let target { return target }
      if request.method.rawValue == "CONNECT" { return parts.authorityWithPort }
      let isAsterisk = request.method == .options && parts.hasNoPath && parts.query == nil
      return isAsterisk ? "*" : parts.target
    case "@path": return parts.path
    case "@query": return "?" + (parts.query ?? "")
    case "@query-param":
      guard case .string(let name)? = component.parameters["name"] else {
        throw component.error("needs the parameter 'name'")
      }
      let values = QueryParameters.values(of: name, in: parts.query ?? "")
      guard let value = values.first, values.count == 1 else {
        throw component.error(
          values.isEmpty ? "is not in the query" : "occurs several times in the query: cover @query")
      }
      return value
    default: throw component.error("is not defined by RFC 9421")
    }
  }

  // MARK: - Fields (§2.1)

  private static func field(
    _ component: SignatureComponent, from context: SignatureContext
  ) throws(SignatureError) -> String {
    let parameters = component.parameters
    guard parameters["name"] == nil else { throw component.error("has a parameter that is not defined for it: 'name'") }
    guard parameters["bs"] == nil || parameters["sf"] == nil && parameters["key"] == nil else {
      throw component.error("has 'bs' together with 'sf' or 'key' (RFC 9421 §2.1)")
    }
    guard let name = try? FieldName(component.name), name.canonicalName == component.name else {
      throw component.error("is not the name of a field in lower case")
    }
    let fields = parameters["tr"] == nil ? context.fields : context.trailers
    let lines = fields[values: name].map(Self.trimmed)
    guard !lines.isEmpty else {
      throw component.error(
        parameters["tr"] == nil
          ? "is not in the message: set the field before the message is signed" : "is not in the trailer section")
    }
    if parameters["bs"] != nil {
      return lines.map { ":\(Data($0.utf8).base64EncodedString()):" }.joined(separator: ", ")
    }
    if parameters["sf"] != nil || parameters["key"] != nil {
      return try structured(component, name, from: lines.joined(separator: ", "), context.structuredFields)
    }
    let value = lines.joined(separator: ", ")
    guard value.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw component.error("has characters that are not ASCII: cover it with 'bs'")
    }
    return value
  }

  private static func trimmed(_ value: String) -> Substring {
    func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
    var value = value.drop(while: isBlank)
    while let last = value.last, isBlank(last) { value.removeLast() }
    return value
  }

  private static func structured(
    _ component: SignatureComponent, _ name: FieldName, from text: String,
    _ types: [FieldName: SignatureContext.StructuredType]
  ) throws(SignatureError) -> String {
    do throws(StructuredField.SyntaxError) {
      if case .string(let key)? = component.parameters["key"] {
        if let member = try StructuredField.Dictionary(parsing: text)[key] { return try member.serialized() }
      } else {
        switch types[name] {
        case .item: return try StructuredField.Item(parsing: text).serialized()
        case .list: return try StructuredField.List(parsing: text).serialized()
        case .dictionary: return try StructuredField.Dictionary(parsing: text).serialized()
        case nil: break
        }
      }
    } catch { throw component.error("is not a structured field of its type: \(error.description)") }
    throw component.error(
      component.parameters["key"] == nil
        ? "has no known type: add it to structuredFields, or leave out 'sf'" : "is no member of the field")
  }
}

/// The parts of a request's URL as a server sees them (RFC 9110 §7.1).
struct TargetParts {
  let scheme: String
  /// The host in its canonical form, with the port unless it is the scheme's default.
  let authority: String
  /// The host with its port.
  let authorityWithPort: String
  let path: String
  let query: String?
  let hasNoPath: Bool

  /// The path and the query.
  var target: String { path + (query.map { "?" + $0 } ?? "") }

  init?(_ request: RequestHead) {
    guard var origin = Origin(request.url) else { return nil }
    // A `Host` of the caller's is the authority that the server sees.
    if let host = request.fields[.host] {
      guard let url = URL(string: "\(origin.scheme)://\(host)/"), let named = Origin(url) else { return nil }
      origin = named
    }
    scheme = origin.scheme
    authority = String(origin.description.dropFirst(origin.scheme.count + 3))
    let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
    authorityWithPort = "\(host):\(origin.port)"
    let path = request.url.path(percentEncoded: true)
    hasNoPath = path.isEmpty
    self.path = path.isEmpty ? "/" : path
    query = request.url.query(percentEncoded: true)
  }
}
