/// What a failed request for new credentials says about the user's login: whether it has ended, or nothing can be known
/// now. All code that renews credentials asks this rule before it shows a login page or logs a user out.
///
/// A needless logout costs a user unsaved work, and an outage of an authorization server would log out all of its
/// users. So only a response about the credentials themselves counts as a refusal.
@_spi(Credentials) public enum RenewalFailure: Sendable, Hashable {
  /// The server has refused what the client presented: only a new login helps.
  case refused
  /// The server was not able to decide: the same request may succeed later, and the credentials stay.
  case temporary
  /// The server refuses the client or does not know the request: neither a login nor a later attempt helps. The
  /// credentials stay.
  case unusable

  /// Decides by a response without new credentials (RFC 6749 §5.2).
  ///
  /// A temporary failure comes first: its body is that of a gateway, or of a server that could not decide. Otherwise
  /// the error code decides, whatever the status, because servers answer refusals with 200 (GitHub), 400, 401 and 403
  /// (Auth0). A code that the RFC does not know belongs to the status.
  ///
  /// - Parameters:
  ///   - status: the status of the response.
  ///   - code: the error code in its body (`error`); nil if there is none.
  public init(_ status: HTTPStatus, code: String? = nil) {
    if status.isServerError || Self.temporaryStatuses.contains(status) || code.map(Self.temporaryCodes.contains) == true
    {
      self = .temporary
    } else if code.map(Self.clientCodes.contains) == true
      || status == .unauthorized && code.map(Self.clientCodesOf401.contains) == true
    {
      self = .unusable
    } else if code == "invalid_grant" || status.isSuccessful && code != nil || Self.refusals.contains(status) {
      self = .refused
    } else {
      self = .unusable
    }
  }

  /// The 4xx statuses that say nothing about credentials. Requests are retried after two of them (408, 429). The others
  /// concern a proxy, a connection or a handshake that the request should not have used (RFC 9110 §15.5.8 and §15.5.20,
  /// RFC 8470 §5.2).
  private static let temporaryStatuses: Set<HTTPStatus> = [
    .requestTimeout, .tooManyRequests, .proxyAuthenticationRequired, .misdirectedRequest, .tooEarly,
  ]
  /// RFC 6749 §4.1.2.1, RFC 8628 §3.5, RFC 9449 §8; and the names that Slack and Salesforce have for them.
  private static let temporaryCodes: Set<String> = [
    "temporarily_unavailable", "server_error", "slow_down", "use_dpop_nonce", "internal_error", "fatal_error",
    "unknown_error",
  ]
  /// The client's own identifier or secret is wrong (RFC 6749 §5.2), also as GitHub, Slack and Twitch say it.
  ///
  /// The other codes are refusals: the server does not renew this login, and a login uses another grant. Some servers
  /// answer an expired refresh token with `invalid_request`, `unauthorized_client` or a code of their own.
  private static let clientCodes: Set<String> = [
    "invalid_client", "incorrect_client_credentials", "bad_client_secret", "invalid_client_id", "invalid client",
    "invalid client secret",
  ]
  /// The codes with which Keycloak, Auth0 and UAA refuse a client that has not proved its identity. With 400 and 403,
  /// these codes are about the login.
  private static let clientCodesOf401: Set<String> = ["unauthorized_client", "access_denied", "unauthorized"]
  /// The statuses of a refusal: 400 and 401 (RFC 6749 §5.2), and the statuses that services use in their place.
  private static let refusals: Set<HTTPStatus> = [
    .badRequest, .unauthorized, .forbidden, .gone, .unprocessableContent,
  ]
}
