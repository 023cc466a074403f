/// Another place where an origin offers its resources, such as HTTP/3 on the same port (`Alt-Svc`, RFC 7838).
///
/// This package shows such offers, and does not use them.
///
/// ```swift
/// for service in response.fields.alternativeServices { print(service) }  // h3=":443"; ma=86400
/// ```
public struct AlternativeService: Sendable, Hashable, CustomStringConvertible {
  /// The protocol's name in ALPN (RFC 7301), such as `h3` or `h2`.
  public let protocolID: String
  /// The host; nil for that of the origin.
  public let host: String?
  /// The port.
  public let port: Int
  /// How long the offer is valid, counted from the response; a day if the server does not say.
  public let maximumAge: Duration
  /// Whether the offer stays valid when the network changes.
  public let persists: Bool

  /// The offer as the field contains it.
  public var description: String {
    let seconds = maximumAge.components.seconds
    return "\(protocolID)=\"\(host ?? ""):\(port)\"; ma=\(seconds)\(persists ? "; persist=1" : "")"
  }

  /// Parses an element of the field; nil if it is invalid.
  fileprivate init?(_ element: Substring) {
    let parts = FieldList.elements(of: element, separator: UInt8(ascii: ";"))
    guard let first = parts.first, let (name, value) = FieldParameters.pair(in: first), let value,
      let (host, port) = Self.authority(value)
    else { return nil }
    let parameters = FieldParameters(parsing: element[(parts.first?.endIndex ?? element.endIndex)...])
    (self.host, self.port) = (host, port)
    protocolID = PercentEncoding.pathSegment.decode(name.rawName)
    // §3.1: ma is in delta-seconds.
    maximumAge = .seconds(parameters["ma"].flatMap(CacheControl.deltaSeconds) ?? 86_400)
    persists = parameters["persist"] == "1"
  }

  /// Parses `host:port`, whose host may be missing (§3).
  private static func authority(_ text: String) -> (host: String?, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
      return nil
    }
    guard colon > text.startIndex else { return (nil, Int(port)) }
    guard let authority = try? URLAuthority(of: "https://\(text)"), authority.host != "" else { return nil }
    return (authority.host, Int(port))
  }
}

extension HTTPFields {
  /// The services that a response offers with `Alt-Svc` (RFC 7838 §3), in the server's order of preference. Invalid
  /// elements are left out. Empty if there is no such field, or if the server withdraws its offers (`clear`).
  public var alternativeServices: [AlternativeService] {
    let elements = self[values: "Alt-Svc"].flatMap { FieldList.elements(of: Substring($0)) }
    guard !elements.contains("clear") else { return [] }
    return elements.prefix(64).compactMap(AlternativeService.init)
  }
}
