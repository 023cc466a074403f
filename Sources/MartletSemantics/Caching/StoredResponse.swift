/// A response as a cache keeps it, but for its body: what the rules of RFC 9111 are asked with.
public struct StoredResponse: Sendable, Hashable {
  /// Status and fields, without those that belong to one connection (RFC 9111 §3.1).
  public var head: ResponseHead
  /// Which of the variants of its URL it is: a fingerprint of the request's fields that `Vary` names (RFC 9111 §4.1).
  /// Empty where the answer does not depend on any. A key has at most one stored answer of each variant.
  public var variant: String
  /// When the request went out that brought it, or confirmed it last.
  public var requestTime: Date
  /// When it arrived, or was confirmed last.
  public var responseTime: Date
  /// Whether the transport unpacked the body: then its bytes are not those that the validators and ranges of the
  /// origin speak of.
  public var isUnpacked: Bool

  /// Makes a stored response.
  public init(
    head: ResponseHead, variant: String = "", requestTime: Date, responseTime: Date, isUnpacked: Bool = false
  ) {
    self.head = head
    self.variant = variant
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.isUnpacked = isUnpacked
  }
}
