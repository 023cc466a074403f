/// The error of a Redis client and of its stores: what failed, and what to do about it.
///
/// It contains neither credentials nor values. If a store serves a session, its error fails no request: the cache
/// treats it as a miss, and the rate limit as a missing store.
public struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure.
  @nonexhaustive public enum Kind: String, Sendable, Hashable {
    /// The URL of the server cannot be used.
    case invalidURL
    /// There is no connection, or the client avoids the server for a while because it did not answer.
    case unavailable
    /// The server did not answer within the wait limit. It may still have executed the command.
    case timeout
    /// The server answered with an error, or refused the user or the password.
    case refused
    /// The answer or the stored value has an unexpected form. A server loses the connection if it violates the
    /// protocol, sends more than a command allows, or answers without a command. Operations in progress then fail with
    /// this kind.
    case unexpectedForm
    /// A value was not stored: it is larger than the store accepts, or a part of it was removed in the meantime.
    case notStored
    /// The client was closed.
    case closed
  }

  /// The kind of failure, for the program's decisions.
  public let kind: Kind
  /// What happened and what to do about it.
  public let message: String

  /// Makes an error.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
