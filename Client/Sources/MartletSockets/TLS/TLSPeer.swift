#if os(Linux)
import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The server of a TLS session: the name or address that its certificate must have, and the port.
struct TLSPeer: Sendable {
  /// The name or address that the certificate must cover (RFC 9110 §4.3.4).
  enum Identity: Hashable, Sendable {
    /// A DNS name, in lower case and without a dot at its end.
    case name(String)
    /// The 4 bytes of an IPv4 or the 16 of an IPv6 address.
    case address([UInt8])
  }

  let identity: Identity
  let port: Int
  /// The original host, for messages; without brackets.
  let host: String
  /// Host and port for messages; without the default port of https.
  let description: String

  /// Makes a peer from the host of a URL or of a proxy's setting.
  ///
  /// - Parameters:
  ///   - host: a name in ASCII, with or without a dot at its end; an IPv4 address; an IPv6 address, with or without
  ///     brackets and zone (the zone is not a part of an address in a certificate).
  ///   - port: the port.
  /// - Throws: ``HTTPError/Kind/invalidRequest`` if no certificate can contain the host.
  init(host: String, port: Int) throws(HTTPError) {
    self.port = port
    let literal = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    self.host = literal
    description = (literal.contains(":") ? "[\(literal)]" : literal) + (port == 443 ? "" : ":\(port)")
    if let address = Self.address(literal) {
      identity = .address(address)
      return
    }
    let name = literal.hasSuffix(".") ? String(literal.dropLast()) : literal
    // 253 is the longest name (RFC 1035 §2.3.4); OpenSSL would take a leading dot to mean any subdomain.
    guard (1...253).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
    else {
      throw HTTPError(.invalidRequest, "no certificate can be for the host '\(host.prefix(300))'", phase: .preparing)
    }
    identity = .name(name.lowercased())
  }

  private static func address(_ text: String) -> [UInt8]? {
    // inet_pton reads up to the first zero byte.
    guard !text.utf8.contains(0) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
    let withoutZone = String(text.prefix { $0 != "%" })
    return inet_pton(AF_INET6, withoutZone, &bytes) == 1 ? bytes : nil
  }

  /// The text of an address in a certificate, or nil if it has neither length of an address.
  static func text(ofAddress bytes: UnsafeRawBufferPointer) -> String? {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes.baseAddress, &text, socklen_t(text.count)) != nil
    else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
#endif
