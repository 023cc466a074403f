/// What a server wants to know before it answers: a scheme and its parameters (RFC 9110 §11.3).
///
/// ```swift
/// let fields: HTTPFields = [.wwwAuthenticate: #"Digest realm="a", nonce="x", Basic realm="a""#]
/// AuthenticationChallenge.challenges(in: fields).map(\.scheme)   // ["Digest", "Basic"]
/// ```
///
/// Credentials are written in the same way (§11.4), so that `Authorization` can be read with it too.
public struct AuthenticationChallenge: Sendable, Hashable {
  /// The scheme as it was written; compare it with ``isScheme(_:)``, because schemes have no case.
  public let scheme: String
  /// The parameters in order, the first of each name (§11.2).
  public internal(set) var parameters = FieldParameters()
  /// What stands there in place of parameters: one piece of data, in base64 most of the time.
  public internal(set) var token68: String?

  init(scheme: String) { self.scheme = scheme }

  /// The realm (§11.5): what the server calls the part of itself that wants credentials; nil where it has no name.
  public var realm: String? { parameters["realm"] }

  /// Whether it has this scheme, in whatever case it was written.
  public func isScheme(_ name: String) -> Bool { ASCII.equalIgnoringCase(scheme, name) }

  /// The challenges of a response, over all lines of the field, in the order of the server.
  ///
  /// Forgiving: parameters that belong to no scheme are ignored, values may lack their quotes, and the comma between two
  /// parameters may be missing behind a quoted value.
  ///
  /// - Parameters:
  ///   - fields: the response's fields.
  ///   - name: `WWW-Authenticate` by default; `Proxy-Authenticate` for a proxy's.
  public static func challenges(in fields: HTTPFields, _ name: FieldName = .wwwAuthenticate)
    -> [AuthenticationChallenge]
  {
    var reader = ChallengeReader()
    for line in fields[values: name] {
      for element in FieldList.elements(of: line[...]) { reader.read(element) }
    }
    return reader.challenges
  }
}

extension AuthenticationChallenge: CustomStringConvertible, CustomReflectable {
  /// Scheme and realm; what else it holds may be data of a handshake.
  public var description: String {
    realm.map { "\(scheme) realm=\(QuotedString.quoted($0))" } ?? scheme
  }

  /// Shows no more than ``description`` does.
  public var customMirror: Mirror { Mirror(self, children: ["scheme": scheme, "realm": realm as Any]) }
}

/// Puts challenges together from the elements of the list, in which commas separate schemes as well as parameters
/// (RFC 9110 §11.6.1): an element is either a parameter of the last scheme, or a scheme with its first parameter.
private struct ChallengeReader {
  var challenges: [AuthenticationChallenge] = []

  mutating func read(_ element: Substring) {
    let name = Substring(element.utf8.prefix(while: Token.isTokenCharacter))
    let behind = element[name.endIndex...]
    let rest = ASCII.trimmed(behind)
    guard !name.isEmpty else { return }
    if rest.utf8.first == UInt8(ascii: "=") { return addParameter(name, rest) }
    guard rest.isEmpty || behind.utf8.first.map(ASCII.isWhitespace) == true else { return }
    challenges.append(AuthenticationChallenge(scheme: String(name)))
    if !rest.isEmpty { readDetail(rest) }
  }

  private mutating func readDetail(_ detail: Substring) {
    if Self.isToken68(detail), !ASCII.equalIgnoringCase(detail, "realm=") {
      challenges[challenges.count - 1].token68 = String(detail)
    } else {
      readParameter(detail)
    }
  }

  private mutating func readParameter(_ text: Substring) {
    let name = Substring(text.utf8.prefix(while: Token.isTokenCharacter))
    addParameter(name, ASCII.trimmed(text[name.endIndex...]))
  }

  /// - Parameter rest: what follows the name, the equals sign included.
  private mutating func addParameter(_ name: Substring, _ rest: Substring) {
    guard !challenges.isEmpty, Token.isValid(name), rest.utf8.first == UInt8(ascii: "=") else { return }
    let value = ASCII.trimmed(rest[rest.utf8.index(after: rest.startIndex)...])
    let key = FieldName(unchecked: String(name))
    if challenges[challenges.count - 1].parameters[key] == nil {
      challenges[challenges.count - 1].parameters[key] = QuotedString.unquoted(value)
    }
    if let next = Self.behindQuotes(value), !next.isEmpty { readParameter(next) }
  }

  /// What follows a quoted string; nil where there is none, or where it does not end.
  private static func behindQuotes(_ value: Substring) -> Substring? {
    guard value.utf8.first == UInt8(ascii: "\"") else { return nil }
    var isEscaped = false
    for index in value.utf8.indices.dropFirst() {
      let byte = value.utf8[index]
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        return ASCII.trimmed(value[value.utf8.index(after: index)...])
      }
    }
    return nil
  }

  /// token68 of RFC 9110 §11.2.
  private static func isToken68(_ text: Substring) -> Bool {
    let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let body = text.utf8.dropLast(padding)
    return !body.isEmpty
      && body.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || "-._~+/".utf8.contains($0) }
  }
}
