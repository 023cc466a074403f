public import MartletSemantics

/// What somebody who knows passwords is asked.
public struct PasswordQuestion: Sendable, Hashable {
  /// Who wants to know. Show it to the user: the realm is the server's own word.
  public let space: ProtectionSpace
  /// How many passwords the server has refused in this exchange.
  public let failureCount: Int
  /// Whether the password itself goes to the server (Basic), and not only a proof that it is known (Digest).
  public let sendsPassword: Bool
}
