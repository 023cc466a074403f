/// Why a resource refused an access token: the `error` of a Bearer challenge (RFC 6750 §3.1).
public struct BearerError: Sendable, Hashable, CustomStringConvertible {
  /// The code as the server wrote it; empty where the challenge names none, as for a request without a token.
  public let code: String
  /// What the server says to developers, nil if it says nothing.
  public let message: String?
  /// The scope that is needed, nil if it is not named.
  public let scope: String?

  /// The request is malformed.
  public static let invalidRequest = "invalid_request"
  /// The token is expired, revoked, malformed or otherwise invalid: another one may do.
  public static let invalidToken = "invalid_token"
  /// The token is fine, but does not reach so far: another one of its kind will not do.
  public static let insufficientScope = "insufficient_scope"

  /// Reads a challenge; nil if its scheme is not Bearer.
  public init?(_ challenge: AuthenticationChallenge) {
    guard challenge.isScheme("Bearer") else { return nil }
    code = challenge.parameters["error"] ?? ""
    message = challenge.parameters["error_description"]
    scope = challenge.parameters["scope"]
  }

  /// Whether another token of the same kind may be accepted.
  package var mayBeCuredByAnotherToken: Bool { code != Self.insufficientScope && code != Self.invalidRequest }

  /// The code, and what the server says of it.
  public var description: String { [code, message ?? ""].filter { !$0.isEmpty }.joined(separator: ": ") }
}
