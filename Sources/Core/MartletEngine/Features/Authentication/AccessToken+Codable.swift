package import MartletSemantics

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
  /// any other value is ignored. If the required `token_type` is missing, the type is `Bearer`.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    let seconds = try? members.decodeIfPresent(Double.self, forKey: .expires)
    let text = try? members.decodeIfPresent(String.self, forKey: .expires)
    self.init(try TokenAnswer(from: decoder), at: .now)
    if let stored = seconds.map(Date.init(timeIntervalSince1970:)) ?? text.flatMap(Self.date) { expires = stored }
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
  package init(_ answer: TokenAnswer, at date: Date) {
    self.init(
      answer.accessToken, type: answer.tokenType, expires: answer.seconds.map { date.addingTimeInterval($0) },
      refreshToken: answer.refreshToken)
  }
}
