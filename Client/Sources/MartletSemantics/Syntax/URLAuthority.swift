/// The authority of a URL: the host and the port that a request is sent to (RFC 3986 §3.2).
///
/// It is read from the text, and strictly: if URL parsers disagree on the host, the URL has none. A check of the host
/// by one program must hold for the connection of another.
@_spi(Toolkit) public struct URLAuthority {
  /// The canonical text of the host; see ``HostName``.
  package let host: String
  /// The port, if the URL has one.
  package let port: Int?
  /// The position of the host, with its brackets.
  let hostRange: Range<String.Index>
  /// Where the path begins.
  let end: String.Index

  /// The reason why a URL has no authority, as the continuation of "the URL".
  public enum Fault: Error, CustomStringConvertible {
    case missing
    case backslash
    case port(String)
    case host(String, HostName.Fault)

    public var description: String {
      switch self {
      case .missing: "names no host"
      case .backslash:
        "has a backslash before its path, which some programs take for a slash: write '/', or '%5C' in a path"
      case .port(let port): "has the port '\(port)': use 1 to 65535"
      case .host(let host, let fault): "has no usable host: '\(host)' \(fault.rawValue)"
      }
    }
  }

  /// Reads the authority of an absolute URL.
  package init(of url: String) throws(Fault) {
    let bytes = url.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .missing }
    guard bytes[colon...].starts(with: "://".utf8) else {
      let rest = bytes[colon...].dropFirst()
      let isBackslash = Self.beginsWithBackslash(rest.first == UInt8(ascii: "/") ? rest.dropFirst() : rest)
      throw isBackslash ? .backslash : .missing
    }
    let start = bytes.index(colon, offsetBy: 3)
    end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    guard !bytes[start..<end].contains(UInt8(ascii: "\\")) else { throw .backslash }
    let hostStart = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")).map(bytes.index(after:)) ?? start
    let isBracketed = hostStart < end && bytes[hostStart] == UInt8(ascii: "[")
    let hostEnd =
      isBracketed
      ? bytes[hostStart..<end].firstIndex(of: UInt8(ascii: "]")).map(bytes.index(after:)) ?? end
      : bytes[hostStart..<end].firstIndex(of: UInt8(ascii: ":")) ?? end
    hostRange = hostStart..<hostEnd
    guard !hostRange.isEmpty else { throw .missing }
    port = try Self.port(url[hostEnd..<end])
    let text = url[hostRange]
    do throws(HostName.Fault) {
      host = try isBracketed ? HostName.bracketed(Self.decodingZone(text)) : HostName.name(Self.decoded(text))
    } catch { throw .host(String(text), error) }
  }

  /// Returns why a URL has no authority; nil if it has one.
  public static func fault(of url: String) -> Fault? {
    do throws(Fault) { _ = try URLAuthority(of: url) } catch { return error }
    return nil
  }

  /// Whether the first character is a backslash, which URL parsers encode.
  private static func beginsWithBackslash(_ bytes: Substring.UTF8View) -> Bool {
    guard let first = bytes.first else { return false }
    return first == UInt8(ascii: "\\")
      || first == UInt8(ascii: "%") && PercentEncoding.hexadecimalPair(in: bytes.dropFirst()) == UInt8(ascii: "\\")
  }

  /// Parses a colon and a number; nil for nothing, or a colon alone.
  private static func port(_ text: Substring) throws(Fault) -> Int? {
    guard let first = text.utf8.first else { return nil }
    let digits = text.dropFirst()
    guard first == UInt8(ascii: ":") else { throw .port(String(text)) }
    if digits.isEmpty { return nil }
    guard digits.utf8.allSatisfy(ASCII.isDigit), let port = Int(digits), (1...65_535).contains(port) else {
      throw .port(String(digits.prefix(24)))
    }
    return port
  }

  private static func decoded(_ host: Substring) -> Substring {
    host.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.pathSegment.decode(host)[...] : host
  }

  /// Decodes the percent sign of a zone, which is encoded (RFC 6874 §2); a bare one could begin an escape.
  private static func decodingZone(_ host: Substring) throws(HostName.Fault) -> Substring {
    guard let percent = host.utf8.firstIndex(of: UInt8(ascii: "%")) else { return host }
    guard host[percent...].utf8.starts(with: "%25".utf8) else { throw .address }
    return host[..<percent] + "%" + host[percent...].dropFirst(3)
  }
}

extension URLAuthority {
  /// The host in the form of URLs.
  var literal: String {
    guard host.utf8.contains(UInt8(ascii: ":")) else { return host }
    let parts = host.split(separator: "%", maxSplits: 1)
    return "[\(parts.joined(separator: "%25"))]"
  }
}
