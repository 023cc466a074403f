/// The canonical text of a host's name, and the test whether a host is below a domain (RFC 6265bis §5.1.2 and §5.1.3).
///
/// All code that compares or connects to hosts uses this form: origins, cookies, redirects, proxies and their bypass
/// lists, overrides of names, and the address policy.
@_spi(Toolkit) public enum HostName {
  /// The reason why a text is not a host, as the continuation of "the host 'x'".
  public enum Fault: String, Error {
    case brackets = "has brackets, which are for IPv6 addresses"
    case address = "is not a valid IPv6 address"
    case number = "ends with a number, but is not an IPv4 address"
    case character = "has a character that no host has"
    case international = "is not an international name that DNS allows (UTS #46, RFC 5891)"
  }

  /// Returns the canonical text of a host; nil if it is not a valid host.
  ///
  /// - A name is in lower case and A-labels (UTS #46).
  /// - An IPv4 address is four decimal numbers, even for `127.1`, `0x7f000001` and `2130706433`, as in the URL
  ///   Standard.
  /// - An IPv6 address has the form of RFC 5952, without brackets; a zone (`%eth0`) stays unchanged.
  public static func canonical(_ host: some StringProtocol) -> String? {
    if host.utf8.first == UInt8(ascii: "[") { return try? bracketed(Substring(host)) }
    return host.utf8.contains(UInt8(ascii: ":")) ? address(Substring(host)) : try? name(host)
  }

  /// Returns the canonical text of a name or an IPv4 address.
  package static func name(_ host: some StringProtocol) throws(Fault) -> String {
    let name: String
    if host.utf8.allSatisfy({ $0 < 128 }), !InternationalName.hasALabel(host) {
      name = ASCII.lowercased(host)
    } else {
      guard let ascii = InternationalName.ascii(host) else { throw .international }
      name = ascii
    }
    guard !name.isEmpty, name.utf8.allSatisfy(isPlain) else { throw .character }
    guard endsInNumber(name) else { return name }
    guard let address = IPAddress(loose: name) else { throw .number }
    return address.description
  }

  /// Returns the canonical text of an IPv6 address in brackets.
  package static func bracketed(_ host: Substring) throws(Fault) -> String {
    guard host.utf8.last == UInt8(ascii: "]") else { throw .brackets }
    let inner = host.dropFirst().dropLast()
    guard inner.utf8.contains(UInt8(ascii: ":")) else { throw .brackets }
    guard let address = address(inner) else { throw .address }
    return address
  }

  private static func address(_ text: Substring) -> String? {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(literal: first), address.family == .v6 else { return nil }
    guard parts.count == 2 else { return address.description }
    // The name of an interface may contain capitals.
    guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ isPlain(ASCII.lowercased($0)) }) else { return nil }
    return "\(address)%\(parts[1])"
  }

  /// Whether a byte stands for itself in a host.
  static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 97...122, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }

  /// Whether the last label is a number, ignoring a dot at the end: the host is then an IPv4 address or invalid (URL
  /// Standard, "ends in a number checker").
  private static func endsInNumber(_ name: String) -> Bool {
    var labels = name.utf8[...]
    if labels.last == UInt8(ascii: ".") { labels.removeLast() }
    let label = labels[(labels.lastIndex(of: UInt8(ascii: ".")).map(labels.index(after:)) ?? labels.startIndex)...]
    guard let first = label.first, ASCII.isDigit(first) else { return false }
    if label.allSatisfy(ASCII.isDigit) { return true }
    return label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { ASCII.hexadecimalValue($0) != nil }
  }
}

extension HostName {
  /// Returns the offset after a host that already has its canonical text, as almost every host does: a name in lower
  /// case without A-labels, or four decimal numbers. nil for any other.
  static func canonicalEnd(in url: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var label = start
    var end = start
    while end < url.count, isPlain(url[end]) {
      if url[end] == UInt8(ascii: ".") {
        label = end + 1
      } else if url[end] == UInt8(ascii: "-"), end > label, url[end - 1] == UInt8(ascii: "-") {
        return nil  // It may be an A-label.
      }
      end += 1
    }
    guard label < end else { return nil }
    return ASCII.isDigit(url[label]) && !isDotted(UnsafeBufferPointer(rebasing: url[start..<end])) ? nil : end
  }

  /// Whether the bytes are four decimal numbers up to 255, without leading zeros.
  private static func isDotted(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
    var (dots, value, digits) = (0, 0, 0)
    for byte in host {
      if byte == UInt8(ascii: ".") {
        guard digits > 0 else { return false }
        (dots, value, digits) = (dots + 1, 0, 0)
      } else {
        guard ASCII.isDigit(byte), digits == 0 || value > 0 else { return false }
        (value, digits) = (value * 10 + Int(byte - 48), digits + 1)
        guard value <= 255 else { return false }
      }
    }
    return dots == 3 && digits > 0
  }

  /// Whether the host is the domain or a subdomain of it. An address is not a subdomain of anything.
  package static func matches(_ host: String, domain: String) -> Bool {
    guard host.utf8.count != domain.utf8.count else { return host == domain }
    return isBelow(host, domain) && !isAddress(host)
  }

  /// Whether the host ends with a dot and the domain.
  private static func isBelow(_ host: String, _ domain: String) -> Bool {
    let difference = host.utf8.count - domain.utf8.count
    guard difference > 0, !domain.isEmpty, host.utf8.dropFirst(difference).elementsEqual(domain.utf8) else {
      return false
    }
    return host.utf8.dropFirst(difference - 1).first == UInt8(ascii: ".")
  }

  /// Whether a host is a name of this machine (RFC 6761 §6.3).
  @_spi(Toolkit) public static func isLocal(_ host: String) -> Bool {
    let name = host.hasSuffix(".") ? host.dropLast() : host[...]
    return name == "localhost" || name.hasSuffix(".localhost")
  }

  /// Whether the host is an IPv4 or IPv6 address.
  package static func isAddress(_ host: String) -> Bool {
    guard !host.utf8.contains(UInt8(ascii: ":")) else { return true }
    // Most names end with a letter.
    guard host.utf8.last.map(ASCII.isDigit) == true else { return false }
    let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        (1...3).contains(part.count) && part.allSatisfy(ASCII.isDigit)
          && part.reduce(0) { $0 * 10 + Int($1 - 48) } <= 255
      }
  }
}
