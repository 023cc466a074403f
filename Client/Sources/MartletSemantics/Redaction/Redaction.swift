/// Hides secrets wherever a message is shown: in logs, cURL commands, recordings and descriptions.
///
/// A secret is replaced by ``placeholder``, and its context stays readable: the scheme of `Authorization`, the names of
/// cookies, the other parameters of a query.
///
/// ```swift
/// let redaction = Redaction.standard.hiding(fields: ["X-Tenant"], names: ["iban"])
/// redaction.redacted(url)       // "https://example.com/pay?amount=10&iban=***"
/// redaction.redacted(fields)    // Authorization: Bearer ***
/// ```
///
/// | what | hidden by default |
/// |---|---|
/// | fields | `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`, and fields with secret names: `X-API-Key`, `X-CSRF-Token` |
/// | URLs | user information; parameters of query, path and fragment with secret names; also in `Location`, `Referer` and `Link` |
/// | bodies | members of JSON, elements and attributes of XML and HTML, and fields of urlencoded or multipart forms with secret names; parameters of URLs in JSON and XML |
///
/// A name is secret if one of its words is, in any notation: `access_token`, `clientSecret`, `password2`,
/// `X-Amz-Signature`, `api_key`, `cardNumber`. `key`, `code` and `sig` are secret only as the whole name, and `state`
/// only beside parameters of OAuth. Elements called `key` and `code` are shown: many formats have them. The value does
/// not matter, except for a `number` that is a payment card number. Bodies of other types are not searched.
public struct Redaction: Sendable, Hashable {
  /// The text that replaces a secret; `***` by default, which is valid in URLs, forms, fields and JSON strings.
  public var placeholder = "***"
  /// Whether the complete query and fragment are hidden, whatever the names. False by default; true in errors.
  public var hidesQueries = false
  private var isOff = false
  private var hiddenFields: Set<FieldName> = []
  private var shownFields: Set<FieldName> = []
  private var hiddenNames: Set<String> = []
  private var shownNames: Set<String> = []

  private init() {}

  /// The default.
  public static let standard = Redaction()

  /// The default for errors: queries and fragments of URLs are hidden.
  public static let strict: Redaction = {
    var redaction = Redaction()
    redaction.hidesQueries = true
    return redaction
  }()

  /// Hides nothing: passwords and tokens are shown. Only for output that other users cannot read.
  public static let off: Redaction = {
    var redaction = Redaction()
    redaction.isOff = true
    return redaction
  }()

  /// Returns a copy that hides these fields and names as well. Case, hyphens and underscores in names do not matter.
  public func hiding(fields: Set<FieldName> = [], names: Set<String> = []) -> Redaction {
    var copy = self
    copy.hiddenFields.formUnion(fields)
    copy.shownFields.subtract(fields)
    copy.hiddenNames.formUnion(names.map(SecretName.joined))
    copy.shownNames.subtract(names.map(SecretName.joined))
    return copy
  }

  /// Returns a copy that shows these fields and names. Case, hyphens and underscores in names do not matter.
  public func showing(fields: Set<FieldName> = [], names: Set<String> = []) -> Redaction {
    var copy = self
    copy.shownFields.formUnion(fields)
    copy.hiddenFields.subtract(fields)
    copy.shownNames.formUnion(names.map(SecretName.joined))
    copy.hiddenNames.subtract(names.map(SecretName.joined))
    return copy
  }

  /// Whether nothing is hidden.
  @_spi(Toolkit) public var hidesNothing: Bool { isOff }

  /// Whether the caller has declared the name as secret.
  func hidesExplicitly(_ name: String) -> Bool { hiddenNames.contains(SecretName.joined(name)) }

  /// Whether values with this name are secret, in a query, a form, JSON or XML.
  public func hides(name: String) -> Bool {
    if isOff { return false }
    let joined = SecretName.joined(name)
    if shownNames.contains(joined) { return false }
    return hiddenNames.contains(joined) || SecretName.isSecret(name)
  }

  /// Whether the value of this field is secret, or contains a secret.
  public func hides(_ field: FieldName) -> Bool {
    if isOff || shownFields.contains(field) { return false }
    if hiddenFields.contains(field) || Self.credentials.contains(field) { return true }
    if hiddenNames.isEmpty, Self.usual.contains(field) { return false }
    let joined = SecretName.joined(field.rawName)
    if shownNames.contains(joined) { return false }
    return hiddenNames.contains(joined) || field.isSecret
  }

  /// Whether the name or the value is secret.
  func hides(name: String, value: some StringProtocol) -> Bool {
    hides(name: name) || !isOff && !isShown(name) && SecretName.isCardNumber(value, named: name)
  }

  /// Whether the caller has declared the name as not secret.
  func isShown(_ name: String) -> Bool { shownNames.contains(SecretName.joined(name)) }

  /// Fields of most messages, whose names are not secret: checking them takes long.
  package static let usual: Set<FieldName> = [
    .accept, .acceptEncoding, .acceptLanguage, .acceptRanges, .age, .cacheControl, .connection, .contentEncoding,
    .contentLength, .contentType, .date, .eTag, .expires, .host, .lastModified, .transferEncoding, .userAgent, .vary,
    "Server",
  ]

  private static let credentials: Set<FieldName> = [.authorization, .proxyAuthorization, .cookie, .setCookie]
}

extension Redaction {
  /// Returns the fields without secrets. Order and repeated lines are kept.
  public func redacted(_ fields: HTTPFields) -> HTTPFields {
    var redacted = HTTPFields()
    for (name, value) in fields { redacted.append(self.redacted(value, of: name), for: name) }
    return redacted
  }

  /// Returns the fields without secrets, in one line: `Accept: */*, Authorization: Bearer ***`.
  package func line(of fields: HTTPFields) -> String {
    var line = ""
    for (name, value) in fields {
      if !line.isEmpty { line += ", " }
      line += name.rawName
      line += ": "
      line += redacted(value, of: name)
    }
    return line
  }

  /// Returns the value of a field without secrets.
  public func redacted(_ value: String, of field: FieldName) -> String {
    guard !hidesNothing else { return value }
    switch field {
    case .location, .contentLocation, .referer: return redacted(reference: value)
    case .link: return links(in: value)
    default: break
    }
    guard hides(field) else { return value }
    switch field {
    case .authorization, .proxyAuthorization: return credentials(value)
    case .cookie: return pairs(value[...])
    case .setCookie:
      let end = value.firstIndex(of: ";") ?? value.endIndex
      return pairs(value[..<end]) + value[end...]
    default: return placeholder
    }
  }

  /// Keeps the scheme if it is a known one; an unknown first word may belong to the secret.
  private func credentials(_ value: String) -> String {
    let scheme = value.prefix { $0 != " " }
    return scheme.count < value.count && Self.schemes.contains(ASCII.lowercased(scheme))
      ? "\(scheme) \(placeholder)" : placeholder
  }

  private static let schemes: Set<String> = [
    "basic", "bearer", "digest", "negotiate", "ntlm", "dpop", "hoba", "mutual", "oauth", "hawk", "scram-sha-1",
    "scram-sha-256", "aws4-hmac-sha256", "sharedkey", "token", "apikey",
  ]

  /// `a=1; b=2` without the values. A cookie without a name consists of its value only.
  private func pairs(_ text: Substring) -> String {
    text.split(separator: ";", omittingEmptySubsequences: false)
      .map { pair in
        guard let equals = pair.firstIndex(of: "=") else { return placeholder }
        return pair[...equals] + placeholder
      }
      .joined(separator: "; ").replacing(";  ", with: "; ")
  }

  /// Redacts the references between angle brackets: `<https://…>; rel="next"`.
  private func links(in value: String) -> String {
    var text = ""
    var rest = value[...]
    while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
      text += rest[...start]
      text += redacted(reference: String(rest[rest.index(after: start)..<end]))
      rest = rest[end...]
    }
    return text + rest
  }
}

extension Redaction {
  /// Returns the URL as text without secrets. User information is removed completely.
  public func redacted(_ url: URL) -> String { redacted(reference: url.absoluteString) }

  /// Returns a URL reference (RFC 3986 §4.1), which may be invalid, without secrets.
  @_spi(Toolkit) public func redacted(reference: String) -> String {
    guard !hidesNothing else { return reference }
    if let type = Self.typeOfDataURL(reference) { return type + ",…" }
    guard reference.utf8.contains(where: Self.mayBeginSecret) else { return reference }
    let bytes = reference.utf8
    let fragment = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
    let query = bytes[..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
    var text = path(Self.withoutUser(reference[..<query]))
    if query < fragment {
      text += hidesQueries ? "?…" : "?" + parameters(reference[query..<fragment].dropFirst(), separator: "&")
    }
    if fragment < reference.endIndex, !hidesQueries {
      text += "#" + parameters(reference[fragment...].dropFirst(), separator: "&")
    }
    return text
  }

  /// Returns the beginning of a `data:` URL, which names its type (RFC 2397), without the content, which is a body; nil
  /// for any other URL.
  private static func typeOfDataURL(_ reference: String) -> String? {
    let prefix = reference.prefix(5)
    guard prefix.utf8.count == 5, ASCII.equalIgnoringCase(prefix, "data:") else { return nil }
    let type = reference.prefix(64).prefix { $0 != "," }
    return String(type.endIndex < reference.endIndex && type.count < 64 ? type : prefix)
  }

  /// Whether this byte may begin or end a part of a URL that can contain secrets: user information, query, fragment and
  /// the parameters of a path.
  private static func mayBeginSecret(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"): true
    default: false
    }
  }

  /// Removes everything before the last `@` of the authority: `https://user:password@host/path`.
  @_spi(Toolkit) public static func withoutUser(_ text: Substring) -> Substring {
    guard text.utf8.contains(UInt8(ascii: "@")), let start = text.firstRange(of: "//")?.upperBound else { return text }
    let end = text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex
    guard let at = text[start..<end].lastIndex(of: "@") else { return text }
    return text[..<start] + text[text.index(after: at)...]
  }

  /// Redacts the parameters of path segments: `/a;jsessionid=1/b`.
  private func path(_ text: Substring) -> String {
    guard text.utf8.contains(UInt8(ascii: ";")) else { return String(text) }
    return text.split(separator: "/", omittingEmptySubsequences: false)
      .map { parameters($0, separator: ";") }.joined(separator: "/")
  }

  /// Redacts `a=1&token=2`.
  func parameters(_ text: Substring, separator: Character) -> String {
    let pieces = text.split(separator: separator, omittingEmptySubsequences: false)
    let names = pieces.map { PercentEncoding.form.decode($0.prefix { $0 != "=" }) }
    let hidesState = !isShown("state") && SecretName.isStateSecret(among: names)
    return zip(pieces, names).map { piece, name in
      guard let equals = piece.firstIndex(of: "=") else { return String(piece) }
      let value = piece[piece.index(after: equals)...]
      let isSecret =
        hides(name: name, value: PercentEncoding.form.decode(value)) || hidesState && name == "state"
        || isURLWithSecrets(value)
      return isSecret ? piece[...equals] + placeholder : String(piece)
    }
    .joined(separator: String(separator))
  }

  /// Whether the value of a parameter is a URL with secrets, for example the URL to return to after a login. It may
  /// contain several URLs: parameters follow `?`, `&`, `#` or `;`.
  private func isURLWithSecrets(_ value: Substring) -> Bool {
    guard value.utf8.contains(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }) else { return false }
    let url = PercentEncoding.form.decode(value)
    guard url.contains("://") else { return false }
    return Self.withoutUser(url[...]) != url[...]
      || url.split(whereSeparator: { "?&#;".contains($0) }).contains { piece in
        piece.firstIndex(of: "=").map { hides(name: PercentEncoding.form.decode(piece[..<$0])) } ?? false
      }
  }
}

extension URL {
  /// The URL for error messages: without user information and query, because both may contain credentials. A query is
  /// shown as `?…`.
  @_spi(Toolkit) public var redacted: String { Redaction.strict.redacted(absoluteURL) }
}

extension Redaction {
  /// Returns a body without secrets: without the values of JSON members, XML and HTML elements and attributes, and form
  /// fields with secret names. Other types are returned unchanged.
  ///
  /// The body may be truncated at any byte. Text that looks like JSON or XML counts as such. If the type is not
  /// declared, or is only `application/octet-stream`, a body that looks like a form counts as one, too.
  public func redacted(_ body: Data, type: MediaType?) -> Data {
    guard !hidesNothing, !body.isEmpty else { return body }
    let type = type.flatMap { $0.matches("application/octet-stream") ? nil : $0 }
    if let type, type.matches("application/x-www-form-urlencoded") { return form(body) }
    if type?.type == "multipart" {
      return type?.parameters["boundary"].map { multipart(body, boundary: $0) } ?? body
    }
    if type?.isJSON == true || type?.isMarkup != true && type.mayBeAny && body.beginsLikeJSON {
      return JSONRedactor(self).redacted(body)
    }
    if type?.isMarkup == true || type.mayBeAny && body.visible.first == UInt8(ascii: "<") {
      var redactor = MarkupRedactor(self, body)
      return redactor.redacted()
    }
    guard type == nil else { return body }
    if let boundary = body.multipartBoundary { return multipart(body, boundary: boundary) }
    return body.beginsLikeForm ? form(body) : body
  }

  /// Redacts a urlencoded form; bytes that are no text are none.
  private func form(_ body: Data) -> Data {
    guard let text = String(validating: body, as: UTF8.self) else { return body }
    return Data(parameters(text[...], separator: "&").utf8)
  }

  /// Whether secrets can be found in a body with these fields: not in a compressed one.
  @_spi(Toolkit) public func canSearch(_ fields: HTTPFields) -> Bool {
    hidesNothing || fields.list(.contentEncoding).allSatisfy { ASCII.equalIgnoringCase($0, "identity") }
  }

  /// Redacts the parts of a multipart form (RFC 7578 §4): a part with a secret name loses its content.
  private func multipart(_ body: Data, boundary: String) -> Data {
    let delimiter = Data("--\(boundary)".utf8)
    var redacted = Data()
    var rest = body[...]
    while let start = rest.firstRange(of: delimiter) {
      redacted += rest[..<start.upperBound]
      rest = rest[start.upperBound...]
      let end = rest.firstRange(of: Data("\r\n".utf8) + delimiter)?.lowerBound ?? rest.endIndex
      redacted += part(rest[..<end])
      rest = rest[end...]
    }
    return redacted + rest
  }

  private func part(_ part: Data) -> Data {
    guard let end = part.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound else { return part }
    var name: String?
    var type: MediaType?
    for line in String(decoding: part[..<end], as: UTF8.self).split(separator: "\r\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...]
      switch ASCII.lowercased(ASCII.trimmed(line[..<colon])) {
      case "content-disposition": name = FieldParameters(parsing: value)["name"]
      case "content-type": type = MediaType(value)
      default: break
      }
    }
    if let name, hides(name: name) { return part[..<end] + Data(placeholder.utf8) }
    return part[..<end] + redacted(Data(part[end...]), type: type)
  }
}

extension MediaType? {
  /// Whether the content may be of any type that is text.
  fileprivate var mayBeAny: Bool { self.map { $0.type == "text" || $0.subtype.hasSuffix("json") } ?? true }
}

extension MediaType {
  /// Whether the content is XML or HTML.
  fileprivate var isMarkup: Bool { subtype == "xml" || suffix == "xml" || subtype == "html" }
}

extension Data {
  /// The bytes after white space and a byte order mark.
  fileprivate var visible: Data {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    return (starts(with: mark) ? dropFirst(mark.count) : self[...]).drop { $0 == 32 || (9...13).contains($0) }
  }

  fileprivate var beginsLikeJSON: Bool {
    let first = visible.first
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// Whether the body begins with a name and an equals sign, without white space or quotes.
  fileprivate var beginsLikeForm: Bool {
    let name = prefix { byte in ASCII.isLetter(byte) || ASCII.isDigit(byte) || "%[]+-_.~$:".utf8.contains(byte) }
    return !name.isEmpty && self[name.endIndex...].first == UInt8(ascii: "=")
  }

  /// The boundary of a body that begins like a multipart form.
  fileprivate var multipartBoundary: String? {
    guard starts(with: "--".utf8), let end = prefix(200).firstRange(of: Data("\r\n".utf8)),
      self[end.upperBound...].prefix(20).starts(with: "Content-Disposition:".utf8)
    else { return nil }
    return String(decoding: self[startIndex..<end.lowerBound].dropFirst(2), as: UTF8.self)
  }
}
