import Synchronization

/// A stored response without its body.
public struct StoredResponse: Sendable, Hashable {
  private var content: Content

  /// Status and fields, without the fields of the connection (RFC 9111 §3.1).
  public var head: ResponseHead {
    get { content.values.head }
    set { change { $0.head = newValue } }
  }
  /// The variant: fingerprints of the request fields that `Vary` names (RFC 9111 §4.1). Empty if the response does not
  /// depend on any. A key has at most one stored response for each variant.
  public var variant: String {
    get { content.values.variant }
    set { change { $0.variant = newValue } }
  }
  /// When the request was sent that this response answered, or that last validated it.
  public var requestTime: Date {
    get { content.values.requestTime }
    set { change { $0.requestTime = newValue } }
  }
  /// When the response was received or last validated.
  public var responseTime: Date {
    get { content.values.responseTime }
    set { change { $0.responseTime = newValue } }
  }
  /// Whether the transport has decoded the body: the origin's validators and ranges then refer to other bytes than the
  /// stored ones.
  public var isDecoded: Bool {
    get { content.values.isDecoded }
    set { change { $0.isDecoded = newValue } }
  }

  /// Makes a stored response.
  public init(
    head: ResponseHead, variant: String = "", requestTime: Date, responseTime: Date, isDecoded: Bool = false
  ) {
    content = Content(
      Values(
        head: head, variant: variant, requestTime: requestTime, responseTime: responseTime, isDecoded: isDecoded))
  }

  private mutating func change(_ body: (inout Values) -> Void) {
    var values = content.values
    body(&values)
    content = Content(values)
  }

  private struct Values: Sendable, Equatable {
    var head: ResponseHead
    var variant: String
    var requestTime: Date
    var responseTime: Date
    var isDecoded: Bool
  }

  /// The content that all copies of a stored response share. It is copied several times for each request that it
  /// answers, and hardly ever changed.
  private final class Content: Sendable {
    let values: Values
    /// Facts that every use of the response needs; made on first use.
    private let derived = Mutex<StoredFacts?>(nil)

    init(_ values: Values) { self.values = values }

    func facts(of stored: StoredResponse) -> StoredFacts {
      if let facts = derived.withLock({ $0 }) { return facts }
      let facts = StoredFacts(of: stored)
      derived.withLock { $0 = facts }
      return facts
    }
  }
}

extension StoredResponse {
  public static func == (left: Self, right: Self) -> Bool {
    left.content === right.content || left.content.values == right.content.values
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(variant)
    hasher.combine(responseTime)
  }

  /// Facts that every use of the response needs.
  var facts: StoredFacts { content.facts(of: self) }
}
