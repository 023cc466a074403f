/// How urgently a client wants a response, compared with its other responses (`Priority`, RFC 9218).
///
/// Set it in the fields of a request. A server that uses it sends responses with a lower number first over a connection
/// with several requests (HTTP/2); it may ignore it.
///
/// ```swift
/// var request = HTTPRequest(.get, url)
/// request.fields.priority = HTTPPriority(urgency: 1)   // Priority: u=1
/// ```
///
/// It is a field only: the order in which this library sends requests does not change, and a priority is not changed
/// once the request is sent (§7).
public struct HTTPPriority: Sendable, Hashable, CustomStringConvertible {
  /// The urgency from 0, the highest, to 7, the lowest, which is for work in the background (§4.1). Nil if it is not
  /// said, which means 3.
  public var urgency: Int? { didSet { urgency = urgency.flatMap { Self.urgencies.contains($0) ? $0 : nil } } }
  /// Whether the client can use parts of the response as they arrive, so that the server may send several such
  /// responses in turns (§4.2). Nil if it is not said, which means false.
  public var isIncremental: Bool?

  /// Makes a priority. An urgency that is not from 0 to 7 counts as not said.
  public init(urgency: Int? = nil, isIncremental: Bool? = nil) {
    self.urgency = urgency.flatMap { Self.urgencies.contains($0) ? $0 : nil }
    self.isIncremental = isIncremental
  }

  private static let urgencies = 0...7

  /// Returns this priority of a request with what its response says (§8): a parameter of the response counts, one that
  /// it does not have stays.
  public func merged(with response: HTTPPriority) -> HTTPPriority {
    HTTPPriority(
      urgency: response.urgency ?? urgency, isIncremental: response.isIncremental ?? isIncremental)
  }

  /// The priority in words, with the defaults for what is not said: `urgency 5 of 0 to 7, incremental`.
  public var description: String {
    "urgency \(urgency ?? 3) of 0 to 7" + (isIncremental == true ? ", incremental" : "")
  }

  /// Parameters that are unknown, of another type or out of range are ignored (§4).
  fileprivate init(_ members: StructuredField.Dictionary) {
    var urgency: Int?
    if case .integer(let number)? = members["u"]?.item?.value { urgency = Int(clamping: number) }
    var isIncremental: Bool?
    if case .boolean(let flag)? = members["i"]?.item?.value { isIncremental = flag }
    self.init(urgency: urgency, isIncremental: isIncremental)
  }

  fileprivate var text: String {
    var members: StructuredField.Dictionary = [:]
    if let urgency { members["u"] = .item(StructuredField.Item(.integer(Int64(urgency)))) }
    if let isIncremental { members["i"] = .item(StructuredField.Item(.boolean(isIncremental))) }
    return (try? members.serialized()) ?? ""  // It cannot fail: the keys and numbers are valid.
  }
}

extension HTTPFields {
  /// The priority of `Priority` (RFC 9218 §5); nil if the field is absent or invalid. Setting it replaces the field;
  /// nil, and a priority that says nothing, remove it. Parameters that this type does not know are lost then.
  public var priority: HTTPPriority? {
    get {
      guard contains("Priority") else { return nil }
      return (try? structured("Priority", as: StructuredField.Dictionary.self)).flatMap(\.self).map(HTTPPriority.init)
    }
    set {
      let text = newValue?.text ?? ""
      self["Priority"] = text.isEmpty ? nil : text
    }
  }
}
