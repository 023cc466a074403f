@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics

/// An access token of an authorization server (RFC 6749 §1.4, §5.1).
///
/// Descriptions and mirrors do not show the token.
public struct AccessToken: Sendable, Hashable {
  /// The token itself (`access_token`).
  public var value: String
  /// The scheme with which requests send the token (`token_type`); `Bearer` by default (RFC 6750). One of the type
  /// `DPoP` needs a proof with each request (RFC 9449), which `DPoP` of the product `MartletSignatures` adds.
  public var type: String
  /// The date at which the token expires; nil, the default, if it is not known. A ``TokenSource`` renews the token 30
  /// seconds earlier, or after three quarters of its lifetime if that is later.
  public var expires: Date?
  /// The token for the next renewal (`refresh_token`); nil, the default, if there is none. The engine never sends it:
  /// it is for the closure of a ``TokenSource``.
  public var refreshToken: String?

  /// Makes a token.
  public init(_ value: String, type: String = "Bearer", expires: Date? = nil, refreshToken: String? = nil) {
    self.value = value
    self.type = type
    self.expires = expires
    self.refreshToken = refreshToken
  }

  /// The value of `Authorization`. Authorization servers write `bearer` in any case, but some resource servers accept
  /// only `Bearer`. The same holds for `DPoP`.
  public var authorization: String {
    (["Bearer", "DPoP"].first { ASCII.equalIgnoringCase(type, $0) } ?? type) + " " + value
  }

  /// Returns whether the token can be sent without expiring in transit: more than 30 seconds, or more than a quarter of
  /// its lifetime, are left.
  ///
  /// - Parameter received: when the token was received.
  @_spi(Credentials) public func isFresh(at now: Date, received: Date) -> Bool {
    guard let expires else { return true }
    return expires.timeIntervalSince(now) > min(30, expires.timeIntervalSince(received) / 4)
  }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
  /// "an access token", and when it expires.
  public var description: String { "an access token" + (expires.map { " until \($0)" } ?? "") }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension AccessToken: Codable {
  private enum Key: String, CodingKey {
    case value = "access_token"
    case type = "token_type"
    case expires = "expires_at"
    case refreshToken = "refresh_token"
  }

  /// Reads a token endpoint's response (RFC 6749 §5.1), or the output of ``encode(to:)``.
  ///
  /// ```swift
  /// let (token, _) = try await session.value(of: AccessToken.self, for: request)
  /// ```
  ///
  /// `expires_in` counts from now. `expires_at` takes precedence: a number of seconds since 1970 or an RFC 3339 date;
  /// any other value is ignored. If the required `token_type` is missing, the type is `Bearer`. A value that is empty
  /// or has a character outside RFC 6749 §A.12 is an error, unless the token has expired by its `expires_at` and has a
  /// refresh token: a program may keep only that.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    let seconds = try? members.decodeIfPresent(Double.self, forKey: .expires)
    let text = try? members.decodeIfPresent(String.self, forKey: .expires)
    let stored = seconds.map(Date.init(timeIntervalSince1970:)) ?? text.flatMap(Self.date)
    self.init(try TokenAnswer(from: decoder, isExpired: stored.map { $0 <= .now } ?? false), at: .now)
    if let stored { expires = stored }
  }

  private static func date(_ text: String) -> Date? {
    if let seconds = Double(text), seconds.isFinite { return Date(timeIntervalSince1970: seconds) }
    return [true, false].lazy.compactMap { try? Date.ISO8601FormatStyle(includingFractionalSeconds: $0).parse(text) }
      .first
  }

  /// Writes the token with the names of RFC 6749 §5.1. In place of a lifetime it writes the expiry date (`expires_at`,
  /// in seconds since 1970), so that the output can be read at any time.
  ///
  /// The output contains the secrets: keep it where only the app can read it.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(value, forKey: .value)
    try members.encode(type, forKey: .type)
    try members.encodeIfPresent(expires?.timeIntervalSince1970, forKey: .expires)
    try members.encodeIfPresent(refreshToken, forKey: .refreshToken)
  }
}

extension AccessToken {
  /// Makes the token of a token endpoint's response.
  ///
  /// - Parameter date: when the response was received.
  @_spi(Credentials) public init(_ answer: TokenAnswer, at date: Date) {
    self.init(
      answer.accessToken, type: answer.tokenType, expires: answer.seconds.map { date.addingTimeInterval($0) },
      refreshToken: answer.refreshToken)
  }
}
