/// A server's demand for credentials: a scheme and its parameters (RFC 9110 §11.3).
///
/// ```swift
/// let fields: HTTPFields = [.wwwAuthenticate: #"Digest realm="a", nonce="x", Basic realm="a""#]
/// AuthenticationChallenge.challenges(in: fields).map(\.scheme)   // ["Digest", "Basic"]
/// ```
///
/// Credentials have the same syntax (§11.4), so it can parse `Authorization` too.
public struct AuthenticationChallenge: Sendable, Hashable {
  /// The scheme as the server wrote it. Compare it with ``isScheme(_:)``: schemes are case-insensitive.
  public let scheme: String
  /// The parameters in their order. If a name is repeated, the first one counts (§11.2).
  public internal(set) var parameters = FieldParameters()
  /// The single value that a scheme may have in place of parameters, mostly base64 (§11.2); nil if there is none.
  public internal(set) var token68: String?

  init(scheme: String) { self.scheme = scheme }

  /// The realm: the server's name for the protection space (§11.5); nil if the challenge names none.
  public var realm: String? { parameters["realm"] }

  /// Whether the challenge has this scheme. The comparison ignores case.
  public func isScheme(_ name: String) -> Bool { ASCII.equalIgnoringCase(scheme, name) }

  /// Returns the challenges of a response, from all lines of the field, in the server's order.
  ///
  /// The parser is lenient: parameters without a scheme are ignored, values may lack their quotes, and the comma after
  /// a quoted value may be missing.
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
  /// Scheme and realm only: other parameters may be part of a handshake.
  public var description: String {
    realm.map { "\(scheme) realm=\(QuotedString.quoted($0))" } ?? scheme
  }

  /// Scheme and realm only, like ``description``.
  public var customMirror: Mirror { Mirror(self, children: ["scheme": scheme, "realm": realm as Any]) }
}

/// Builds challenges from the elements of a list. In the list, commas separate schemes as well as parameters (RFC 9110
/// §11.6.1). An element is either a parameter of the last scheme, or a scheme with its first parameter.
private struct ChallengeReader {
  private(set) var challenges: [AuthenticationChallenge] = []
  /// The names of the last challenge's parameters.
  private var names: Set<FieldName> = []

  mutating func read(_ element: Substring) {
    let name = Substring(element.utf8.prefix(while: Token.isTokenCharacter))
    let remainder = element[name.endIndex...]
    let rest = ASCII.trimmed(remainder)
    guard !name.isEmpty else { return }
    if rest.utf8.first == UInt8(ascii: "=") { return addParameters(element) }
    guard rest.isEmpty || remainder.utf8.first.map(ASCII.isWhitespace) == true else { return }
    challenges.append(AuthenticationChallenge(scheme: String(name)))
    names = []
    if !rest.isEmpty { readDetail(rest) }
  }

  private mutating func readDetail(_ detail: Substring) {
    if Self.isToken68(detail), !ASCII.equalIgnoringCase(detail, "realm=") {
      challenges[challenges.count - 1].token68 = String(detail)
    } else {
      addParameters(detail)
    }
  }

  /// Adds the parameter at the beginning of the text to the last challenge, and parameters that follow its quoted value
  /// without a comma.
  private mutating func addParameters(_ text: Substring) {
    var text = text
    while !challenges.isEmpty {
      let name = Substring(text.utf8.prefix(while: Token.isTokenCharacter))
      let rest = ASCII.trimmed(text[name.endIndex...])
      guard !name.isEmpty, rest.utf8.first == UInt8(ascii: "=") else { return }
      let value = ASCII.trimmed(rest[rest.utf8.index(after: rest.startIndex)...])
      challenges[challenges.count - 1].parameters.appendFirst(
        FieldName(unchecked: String(name)), QuotedString.unquoted(value), names: &names)
      guard let next = Self.textAfterQuotes(value) else { return }
      text = next
    }
  }

  /// Returns the text after a quoted string; nil if the value does not begin with one, or its quotes are not closed.
  private static func textAfterQuotes(_ value: Substring) -> Substring? {
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

  /// Whether the text is a token68 (RFC 9110 §11.2).
  private static func isToken68(_ text: Substring) -> Bool {
    let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let body = text.utf8.dropLast(padding)
    return !body.isEmpty
      && body.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || "-._~+/".utf8.contains($0) }
  }
}

/// The reason why a server refused an access token: the `error` of a Bearer challenge (RFC 6750 §3.1), or of a DPoP
/// challenge (RFC 9449 §7.1).
public struct BearerError: Sendable, Hashable, CustomStringConvertible {
  /// The code as the server wrote it; empty if there is none, as in the response to a request without a token.
  public let code: String
  /// The server's explanation for developers (`error_description`); nil if there is none.
  public let message: String?
  /// The scope that the request needs; nil if the challenge names none.
  public let scope: String?

  /// The request is malformed.
  public static let invalidRequest = "invalid_request"
  /// The token is expired, revoked, malformed or otherwise invalid: a new one may be accepted.
  public static let invalidToken = "invalid_token"
  /// The token is valid, but its scope does not cover the request: a new one of the same kind will be refused too.
  public static let insufficientScope = "insufficient_scope"

  /// The proof of a DPoP token needs the nonce of the response, or a newer one (RFC 9449 §9).
  public static let useDPoPNonce = "use_dpop_nonce"
  /// The proof of a DPoP token is not valid (RFC 9449 §7.1): the clock may be wrong, or the key another one.
  public static let invalidDPoPProof = "invalid_dpop_proof"

  /// Makes an error from a challenge; nil if its scheme is neither Bearer nor DPoP.
  public init?(_ challenge: AuthenticationChallenge) {
    guard challenge.isScheme("Bearer") || challenge.isScheme("DPoP") else { return nil }
    code = challenge.parameters["error"] ?? ""
    message = challenge.parameters["error_description"]
    scope = challenge.parameters["scope"]
  }

  /// Whether a new token of the same kind may be accepted.
  package var mayBeSolvedByNewToken: Bool {
    ![Self.insufficientScope, Self.invalidRequest, Self.useDPoPNonce].contains(code)
  }

  /// The code and the server's explanation.
  public var description: String { [code, message ?? ""].filter { !$0.isEmpty }.joined(separator: ": ") }
}
