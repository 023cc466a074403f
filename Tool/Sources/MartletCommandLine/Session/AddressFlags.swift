import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletSockets

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The options that decide where connections lead to, and from which address they begin.
struct AddressFlags {
  private let arguments: ParsedArguments
  private let environment: ToolEnvironment

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) {
    (self.arguments, self.environment) = (arguments, environment)
  }

  func options() throws(UsageError) -> SocketTransport.Options {
    var options = SocketTransport.Options()
    for text in arguments.all(.resolve) {
      let (host, addresses) = try Self.override(text)
      options.addresses[host] = addresses
    }
    options.localAddress = try arguments.value(.interface).map { name throws(UsageError) in try Self.address(of: name) }
    guard let path = arguments.value(.unixSocket) else { return options }
    for other in [OptionName.interface, .proxy, .resolve] where arguments.has(other) {
      throw UsageError("--unix-socket and --\(other.rawValue) cannot be combined: leave one out")
    }
    options.unixSocket = environment.file(path).path
    return options
  }

  /// Reads `host:port:address,address`, or `host:address`; an IPv6 address may have brackets.
  private static func override(_ text: String) throws(UsageError) -> (host: String, addresses: [String]) {
    let parts = text.split(separator: ":", maxSplits: 1)
    let rest = parts.count > 1 ? parts[1] : ""
    let port = rest.prefix { $0 != ":" }
    let hasPort = UInt16(port) != nil && port.endIndex < rest.endIndex
    let list = hasPort ? rest[port.endIndex...].dropFirst() : rest
    let addresses = list.split(separator: ",").map { address in
      address.hasPrefix("[") && address.hasSuffix("]") ? String(address.dropFirst().dropLast()) : String(address)
    }
    guard let host = parts.first, host != "*", !addresses.isEmpty, addresses.allSatisfy({ IPAddress($0) != nil }) else {
      throw UsageError("--resolve '\(text)' is not HOST:PORT:ADDRESS: write one such as api.example.com:443:127.0.0.1")
    }
    return (hasPort ? "\(host):\(port)" : String(host), addresses)
  }

  /// Returns an IP address unchanged, and the first IPv4 address of an interface; without one, its first IPv6 address.
  private static func address(of name: String) throws(UsageError) -> String {
    if IPAddress(name) != nil { return name }
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { throw UsageError("--interface: the interfaces cannot be listed") }
    defer { freeifaddrs(first) }
    var names: [String] = []
    var found: [Int32: String] = [:]
    var next = first
    while let entry = next?.pointee {
      next = entry.ifa_next
      let interface = String(cString: entry.ifa_name)
      if !names.contains(interface) { names.append(interface) }
      guard interface == name, let address = entry.ifa_addr, let text = numeric(address) else { continue }
      let family = Int32(address.pointee.sa_family)
      if found[family] == nil { found[family] = text }
    }
    guard let address = found[AF_INET] ?? found[AF_INET6] else {
      throw UsageError(
        "--interface '\(name)' is neither an IP address nor an interface with one: there are "
          + names.joined(separator: ", "))
    }
    return address
  }

  private static func numeric(_ address: UnsafePointer<sockaddr>) -> String? {
    let family = Int32(address.pointee.sa_family)
    guard family == AF_INET || family == AF_INET6 else { return nil }
    let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard getnameinfo(address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
