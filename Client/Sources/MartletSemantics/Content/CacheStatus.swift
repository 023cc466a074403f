/// How a cache on the way handled a request (`Cache-Status`, RFC 9211).
///
/// ```swift
/// for status in response.fields.cacheStatuses { print(status) }
/// // OriginCache: hit, fresh for 1100 s
/// // CDN Company Here: hit, fresh for 545 s
/// ```
///
/// It says nothing about the cache of the session, whose answer is the `source` of a response.
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
  /// The name of the cache.
  public let name: String
  /// Whether the cache had the response, and asked no one for it (§2.1).
  public let isHit: Bool
  /// Why the request was forwarded towards the origin; nil if the cache does not say (§2.2).
  public let forwardReason: ForwardReason?
  /// The status of the response to the forwarded request; nil if the cache does not say (§2.3).
  public let forwardStatus: HTTPStatus?
  /// For how many seconds the response is still fresh; negative if it is stale, nil if the cache does not say (§2.4).
  public let secondsToLive: Int64?
  /// Whether the cache has stored the response; nil if it does not say (§2.5).
  public let isStored: Bool?
  /// Whether the request shared the response to another one; false if it tried to and was sent by itself, nil if the
  /// cache does not say (§2.6).
  public let isCollapsed: Bool?
  /// The key of the response in the cache; nil if the cache does not say (§2.7). It may contain parts of the URL.
  public let key: String?
  /// More about the decision, in the cache's own words; nil if there is nothing (§2.8).
  public let detail: String?

  /// Why a request was forwarded (RFC 9211 §2.2). Servers may send other values.
  public struct ForwardReason: RawRepresentable, Sendable, Hashable {
    /// The token.
    public let rawValue: String

    /// Makes a reason from a token.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The cache was configured not to handle the request.
    public static let bypass = ForwardReason(rawValue: "bypass")
    /// The method requires that the request is forwarded.
    public static let method = ForwardReason(rawValue: "method")
    /// No response was stored for the URL.
    public static let uriMiss = ForwardReason(rawValue: "uri-miss")
    /// The stored responses were for other fields of the request (`Vary`).
    public static let varyMiss = ForwardReason(rawValue: "vary-miss")
    /// No stored response could be used; the cache does not say which of the two reasons it was.
    public static let miss = ForwardReason(rawValue: "miss")
    /// The stored response was fresh, but the request did not allow its use.
    public static let request = ForwardReason(rawValue: "request")
    /// The stored response was stale.
    public static let stale = ForwardReason(rawValue: "stale")
    /// Only a part of the response was stored.
    public static let partial = ForwardReason(rawValue: "partial")
  }

  /// The status in words, without the key: `ExampleCache: forwarded (stale), status 304`.
  public var description: String {
    var parts: [String] = []
    if isHit { parts.append("hit") }
    if let forwardReason { parts.append("forwarded (\(forwardReason.rawValue))") }
    if let forwardStatus { parts.append("status \(forwardStatus.code)") }
    if let secondsToLive {
      let isFresh = secondsToLive >= 0
      parts.append("\(isFresh ? "fresh" : "stale") for \(secondsToLive.magnitude) s")
    }
    if let isCollapsed { parts.append(isCollapsed ? "shared with another request" : "not shared") }
    if let isStored { parts.append(isStored ? "stored" : "not stored") }
    if let detail { parts.append(detail) }
    return name + ": " + (parts.isEmpty ? "nothing said" : parts.joined(separator: ", "))
  }

  /// A parameter of another type than the RFC says counts as absent.
  fileprivate init?(_ member: StructuredField.Member) {
    guard let item = member.item, let name = item.value.text else { return nil }
    let parameters = item.parameters
    self.name = name
    isHit = parameters["hit"] == .boolean(true)
    forwardReason = parameters["fwd"]?.token.map(ForwardReason.init)
    forwardStatus = parameters["fwd-status"]?.status
    if case .integer(let seconds)? = parameters["ttl"] { secondsToLive = seconds } else { secondsToLive = nil }
    isStored = parameters["stored"]?.flag
    isCollapsed = parameters["collapsed"]?.flag
    key = parameters["key"]?.string
    detail = parameters["detail"]?.text
  }
}

extension HTTPFields {
  /// What caches on the way say (`Cache-Status`, RFC 9211): the one nearest to the origin first. Empty if the field is
  /// absent or invalid. Members that are not named by a token or a string are omitted.
  public var cacheStatuses: [CacheStatus] { members(of: "Cache-Status").compactMap { CacheStatus($0) } }

  /// The members of a list; none if it is absent or invalid.
  func members(of name: FieldName) -> [StructuredField.Member] {
    guard contains(name) else { return [] }
    return (try? structured(name, as: StructuredField.List.self))?.members ?? []
  }
}

// The types of parameters.
extension StructuredField.BareItem {
  /// The text of a token or a string, which several fields allow both.
  var text: String? { token ?? string }

  var token: String? { if case .token(let token) = self { token } else { nil } }

  var string: String? { if case .string(let string) = self { string } else { nil } }

  var flag: Bool? { if case .boolean(let flag) = self { flag } else { nil } }

  /// A status from 100 to 999.
  var status: HTTPStatus? {
    guard case .integer(let code) = self, (100...999).contains(code) else { return nil }
    return HTTPStatus(Int(code))
  }
}
