/// A time as written by authorization servers: a lifetime (`expires_in`, RFC 6749 §5.1, RFC 8628 §3.2), or the interval
/// of a device (`interval`).
///
/// Some servers write the number as a string, which is accepted. Some write 0, a negative number or a word; the
/// lifetime is then unknown. A token that had expired when it was issued would be renewed for each request.
@_spi(Credentials) public struct TokenLifetime: Sendable, Decodable {
  /// The number that the server wrote; nil if it is none.
  public let number: Double?
  /// The lifetime in seconds, 2³² at most; nil if it is unknown.
  public var seconds: Double? { number.flatMap { $0 > 0 ? min($0, Double(1 << 32)) : nil } }

  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    let number = (try? value.decode(Double.self)) ?? (try? value.decode(String.self)).flatMap { Double($0) }
    self.number = number.flatMap { $0.isFinite ? $0 : nil }
  }
}

/// The successful response of a token endpoint (RFC 6749 §5.1).
@_spi(Credentials) public struct TokenAnswer: Sendable, Decodable {
  public let accessToken: String
  /// The type of the token; `Bearer` if the member is missing or empty, although it is required.
  public let tokenType: String
  /// The lifetime of the token in seconds; nil if it is unknown (see ``TokenLifetime``).
  public let seconds: Double?
  public let refreshToken: String?
  /// The scopes of the token; nil if they are the requested ones.
  public let scopes: Set<String>?

  private enum Key: String, CodingKey {
    case accessToken = "access_token"
    case tokenType = "token_type"
    case seconds = "expires_in"
    case refreshToken = "refresh_token"
    case scope
  }

  public init(from decoder: any Decoder) throws { try self.init(from: decoder, isExpired: false) }

  /// - Parameter isExpired: whether the access token will not be sent, so that a text without one has a use, too: its
  ///   refresh token.
  public init(from decoder: any Decoder, isExpired: Bool) throws {
    let members = try decoder.container(keyedBy: Key.self)
    accessToken = try members.decode(String.self, forKey: .accessToken)
    let type = try members.decodeIfPresent(String.self, forKey: .tokenType) ?? ""
    tokenType = type.isEmpty ? "Bearer" : type
    seconds = try members.decodeIfPresent(TokenLifetime.self, forKey: .seconds)?.seconds
    // With an empty one, the old refresh token would be lost.
    let refreshToken = try members.decodeIfPresent(String.self, forKey: .refreshToken)
    self.refreshToken = refreshToken?.isEmpty == true ? nil : refreshToken
    guard Self.isToken(accessToken) || isExpired && self.refreshToken != nil else {
      throw DecodingError.dataCorruptedError(
        forKey: .accessToken, in: members, debugDescription: "the token is empty or has a character that is not allowed"
      )
    }
    scopes = try? members.decodeIfPresent(ScopeList.self, forKey: .scope)?.scopes
  }

  /// Whether a text can be an access token: one or more printable ASCII characters or spaces (RFC 6749 appendix A.12).
  public static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// Whether a token of this type requires a proof with each request: DPoP (RFC 9449), or MAC.
  public static func needsProof(_ type: String) -> Bool { ["dpop", "mac", "pop"].contains(ASCII.lowercased(type)) }

  /// The types of tokens that are sent as `Bearer`: this one, and the types with which Slack says for whom a token is.
  private static let bearerTypes: Set<String> = ["bearer", "bot", "user"]

  /// The reason why the token cannot be used; nil if it can. A client must not use a token whose type it does not
  /// understand (RFC 6749 §7.1).
  public var objection: String? {
    guard !Self.bearerTypes.contains(ASCII.lowercased(tokenType)) else { return nil }
    return
      "the token has the type '\(tokenType.printable(upTo: 100))', and only Bearer tokens can be sent (RFC 6749 §7.1)"
  }
}

extension String {
  /// Returns the characters that RFC 6749 allows in a server's error texts, for messages, up to a limit.
  @_spi(Toolkit) public func printable(upTo limit: Int) -> String {
    String(unicodeScalars.filter { (" "..."~").contains($0) }.prefix(limit).map(Character.init))
  }
}

/// The scopes of a token: a text with spaces (RFC 6749 §3.3), a text with commas (GitHub), or an array (Twitch).
private struct ScopeList: Decodable {
  let scopes: Set<String>

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let list = try? value.decode([String].self) {
      scopes = Set(list)
    } else {
      let text = try value.decode(String.self)
      // A comma is a legal character of a scope, so it separates only if nothing else does.
      scopes = Set(text.split(separator: text.contains(" ") ? " " : ",").map(String.init))
    }
  }
}

/// The error response of an authorization server (RFC 6749 §4.1.2.1, §5.2).
@_spi(Credentials) public struct TokenRefusal: Sendable, Hashable {
  /// The error code, such as `invalid_grant`.
  public let code: String
  public let description: String?
  public let uri: String?

  /// Reads a response's body; nil if it is no error response.
  ///
  /// The member `error` makes it one, whatever the status: GitHub refuses with 200. Facebook's is an object, and Okta
  /// calls it `errorCode`. Without it, the `message` of an error status is the code (Twitch); a success may have a
  /// message, too (Azure).
  public init?(_ status: HTTPStatus, _ body: Data) {
    guard let members = try? JSONDecoder().decode(RefusalMembers.self, from: body) else { return nil }
    guard let code = members.code ?? (status.isSuccessful ? nil : members.otherCode) else { return nil }
    self.init(code: code, description: members.description ?? members.message, uri: members.uri)
  }

  public init(code: String, description: String? = nil, uri: String? = nil) {
    self.code = code
    self.description = description
    self.uri = uri
  }
}

/// The members of an error response. One of an unexpected type is ignored, and so is an empty text.
private struct RefusalMembers: Decodable {
  let code: String?
  let description: String?
  let uri: String?
  let message: String?
  /// The code of an error status without `error`.
  let otherCode: String?

  private enum Key: String, CodingKey {
    case error, type, message, errorCode, errorSummary
    case description = "error_description"
    case uri = "error_uri"
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    let inner = try? members.nestedContainer(keyedBy: Key.self, forKey: .error)
    code = Self.text(.error, of: members) ?? inner.map { Self.text(.type, of: $0) ?? "error" }
    description = Self.text(.description, of: members)
    uri = Self.text(.uri, of: members)
    message =
      Self.text(.message, of: members) ?? inner.flatMap { Self.text(.message, of: $0) }
      ?? Self.text(.errorSummary, of: members)
    otherCode = Self.text(.errorCode, of: members) ?? message
  }

  private static func text(_ key: Key, of members: KeyedDecodingContainer<Key>) -> String? {
    (try? members.decodeIfPresent(String.self, forKey: key)).flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// The rule that recognizes requests for an OAuth 2 token. They are sent without one.
package enum TokenRequestRule {
  /// Whether a request obtains a token. It has a `grant_type` (RFC 6749 §3.2), or a `response_type` and a `client_id`
  /// (§3.1, RFC 9126), or it requests the metadata of the server (RFC 8414 §3, RFC 8615).
  ///
  /// - Parameters:
  ///   - request: the head of the request.
  ///   - form: the body if it is known. It counts only if the request is a `POST` of a form of at most 64 KiB.
  package static func obtainsToken(_ request: RequestHead, form: Data?) -> Bool {
    if request.method == .get, request.url.path.hasPrefix("/.well-known/") { return true }
    var names = names(in: request.url.query(percentEncoded: true) ?? "")
    let isForm = request.fields.mediaType.map { $0.type == "application" && $0.subtype == "x-www-form-urlencoded" }
    if request.method == .post, isForm == true, let form, form.count <= 64 << 10 {
      names.formUnion(Self.names(in: String(decoding: form, as: UTF8.self)))
    }
    return names.contains("grant_type") || names.isSuperset(of: ["response_type", "client_id"])
  }

  /// Returns the parameter names of a query or a form.
  private static func names(in text: String) -> Set<String> {
    Set(text.split(separator: "&").map { String($0.prefix { $0 != "=" }) })
  }
}
