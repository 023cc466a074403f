/// Why a message cannot be signed, or a signature is not accepted.
///
/// A session that signs or verifies throws an ``Martlet/HTTPError`` with this error as
/// ``Martlet/HTTPError/underlying``:
///
/// ```swift
/// do { _ = try await session.data(for: request) } catch {
///   if let refusal = error.underlying as? SignatureError { print(refusal.reason) }
/// }
/// ```
public struct SignatureError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a program may want to distinguish.
  @nonexhaustive public enum Reason: String, Sendable, Hashable {
    /// A key cannot be read, or does not fit its use: it is encrypted, too weak, or only public.
    case unusableKey
    /// A component cannot be derived from the message, or its identifier is not allowed (RFC 9421 §2.5).
    case unknownComponent
    /// `Signature` or `Signature-Input` is malformed (§4).
    case malformedSignature
    /// The message has no signature with the expected label and tag.
    case noSignature
    /// A component that the verifier requires is not covered (§3.2.1).
    case uncoveredComponent
    /// The signature has expired, is too old, was made in the future, or does not say when it was made.
    case outOfTime
    /// The verifier has no key for the signature's `keyid`.
    case unknownKey
    /// `alg` is not the algorithm of the key (§3.2).
    case otherAlgorithm
    /// The signature is not that of the message by the key.
    case invalidSignature
    /// The content of the message cannot be checked, although its digest is covered.
    case uncheckedContent
  }

  /// The reason, for the program's decisions.
  public let reason: Reason
  /// The problem and what to do about it, in words. It contains neither keys nor values of fields.
  public let description: String

  /// Makes an error, for a closure that refuses a key, for example.
  public init(_ reason: Reason, _ description: String) { (self.reason, self.description) = (reason, description) }
}
