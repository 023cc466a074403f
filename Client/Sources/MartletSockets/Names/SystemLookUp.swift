#if os(Linux)
import CSockets
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Looks up names with the system's resolver: the hosts file, DNS, and its other configured sources.
enum SystemLookUp {
  /// Returns the addresses of a name in the order of RFC 6724. It blocks the thread, for minutes if name servers do not
  /// respond.
  static let addresses: Resolver.BlockingLookUp = { host in
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    // Without a socket type, each address is returned once per type.
    hints.ai_socktype = martlet_stream
    var list: UnsafeMutablePointer<addrinfo>?
    let code = SpareDescriptors.retrying({ getaddrinfo(host, nil, &hints, &list) }, if: { $0 != 0 })
    let systemError = errno
    guard code == 0 else {
      return .failure(failure(code, systemError, hasAddress: { IPAddress.machineHasOne }))
    }
    defer { freeaddrinfo(list) }
    var addresses: [IPAddress] = []
    var next = list
    while let entry = next?.pointee, addresses.count < limit {
      if let address = entry.ai_addr, let ip = SocketAddress(address, length: entry.ai_addrlen)?.ip {
        addresses.append(ip)
      }
      next = entry.ai_next
    }
    return .success(addresses)
  }

  /// Returns the failure of a look-up.
  ///
  /// - Parameters:
  ///   - code: the result of `getaddrinfo`.
  ///   - systemError: `errno` after it.
  ///   - hasAddress: returns whether the machine has an address in a network. Without one, no name server is reached.
  static func failure(_ code: Int32, _ systemError: Int32, hasAddress: () -> Bool) -> LookUpFailure {
    let message = code == EAI_SYSTEM ? strerror(systemError) : UnsafeMutablePointer(mutating: gai_strerror(code))
    let underlying: (any Error)? =
      switch code {
      case EAI_NONAME: UnknownHostName()
      case EAI_AGAIN where !hasAddress(): NetworkIsDown()
      case EAI_SYSTEM where [ENETUNREACH, ENETDOWN].contains(systemError): NetworkIsDown()
      default: nil
      }
    return LookUpFailure(message: message.map { String(cString: $0) } ?? "error \(code)", underlying: underlying)
  }

  /// The maximum number of addresses of one name that are tried.
  private static let limit = 64
}
#endif
