/// The error of a Redis client and of its stores: what failed, and what to do about it.
///
/// Neither credentials nor values are part of it. Where a store serves a session, an error of it fails no request: the
/// cache treats it as a miss, and the rate limit as a missing store.
public struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Kind: String, Sendable, Hashable {
    /// The URL of the server cannot be used.
    case invalidURL
    /// There is no connection, or the server is left alone for a while because it did not answer.
    case unavailable
    /// The server did not answer within the wait limit. It may still have done what it was asked for.
    case timeout
    /// The server answered with an error, or refused the user or the password.
    case refused
    /// The answer or the stored value has another form than expected. A server that violates the protocol, sends more than a
    /// command can bring, or answers what was not asked, loses the connection, and what was under way fails with this kind.
    case unexpectedForm
    /// A value is larger than the store accepts, or what is written was aborted.
    case notStored
    /// The client was closed.
    case closed
  }

  /// The kind of failure, for a program to decide by.
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
