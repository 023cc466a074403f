#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The next step for the owner of a handshake with a proxy.
enum ProxyStep: Equatable {
  /// Receive more; all of the input was consumed.
  case needsMore
  /// Send these bytes, then continue.
  case send([UInt8])
  /// Begin again on the same connection: the challenge can be answered.
  case beginAgain
  /// Open another connection to the proxy and begin again there: the challenge can be answered, but not on this
  /// connection.
  case reconnect
  /// The tunnel is open. The rest of the input is from the origin.
  case open
}

/// The handshake with a SOCKS5 proxy (RFC 1928) that opens a connection to an origin, with user name and password if
/// there are any (RFC 1929). It uses no socket: bytes go in and come out.
///
/// Decisions where servers differ from the RFCs: the version in the reply to user name and password is not checked, and
/// neither is the reserved byte. The password may be empty.
struct SOCKS5Handshake {
  private enum Stage {
    case method
    case password
    /// The version and the code of the reply.
    case reply
    /// Reserved byte, type of address, first byte of the address.
    case boundType
    /// The rest of address and port.
    case boundRest(Int)
    case open

    /// The number of bytes that the stage reads.
    var byteCount: Int {
      switch self {
      case .method, .password, .reply: 2
      case .boundType: 3
      case .boundRest(let count): count
      case .open: 0
      }
    }
  }

  private let origin: Origin
  private let server: ProxyServer
  /// The request to the proxy, and the untried addresses if the client resolves names.
  private var request: [UInt8]
  private var addresses: ArraySlice<IPAddress>
  /// The proxy's replies about the addresses that were tried.
  private var refusals: [String] = []
  /// User name and password as they are sent; nil if there are none.
  private let password: [UInt8]?
  private var stage = Stage.method
  /// The received bytes of the stage, at most 257.
  private var received: [UInt8] = []

  /// Prepares a handshake.
  ///
  /// - Parameters:
  ///   - origin: the destination for the proxy to connect to.
  ///   - addresses: the origin's addresses, if the client resolves names: each is tried over another connection to the
  ///     proxy until one succeeds. Empty if the proxy resolves the name.
  /// - Throws: ``HTTPError/Kind/proxyFailed`` if the host's name is longer than 255 bytes,
  ///   ``HTTPError/Kind/authenticationFailed`` if the user name or the password is: the protocol cannot transmit them.
  init(to origin: Origin, at addresses: [IPAddress] = [], through server: ProxyServer) throws(HTTPError) {
    self.origin = origin
    self.server = server
    self.addresses = addresses[...]
    guard let request = Self.request(to: origin, at: addresses.first) else {
      throw server.error("it cannot be sent a name of more than 255 bytes (RFC 1928 §5)", for: origin)
    }
    self.request = request
    guard let credential = server.credentials?.credential else {
      password = nil
      return
    }
    guard let user = Self.counted(credential.user), let secret = Self.counted(credential.password) else {
      throw server.error(
        "it cannot be sent a user name or password of more than 255 bytes (RFC 1929 §2)", .authenticationFailed,
        for: origin, phase: .preparing)
    }
    password = [1] + user + secret
  }

  /// The first bytes to send: the authentication methods that the client offers.
  var greeting: [UInt8] { password == nil ? [5, 1, 0] : [5, 2, 0, 2] }

  /// Processes bytes from the proxy.
  ///
  /// - Parameters:
  ///   - input: bytes of the connection.
  ///   - position: the offset of the first unconsumed byte; it is moved to the end of the consumed bytes.
  /// - Throws: ``HTTPError/Kind/proxyFailed``, with the meaning of the proxy's code.
  mutating func receive(_ input: RawSpan, from position: inout Int) throws(HTTPError) -> ProxyStep {
    while true {
      if case .open = stage { return .open }
      while received.count < stage.byteCount {
        guard position < input.byteCount else { return .needsMore }
        received.append(input.unsafeLoadUnaligned(fromByteOffset: position, as: UInt8.self))
        position += 1
      }
      if let step = try take() { return step }
    }
  }

  /// The error if the proxy ends the connection before the tunnel is open.
  var cutOff: HTTPError {
    let place: String
    switch stage {
    case .method: place = "before it had chosen a method of authentication: is it a SOCKS5 proxy?"
    case .password: place = "instead of accepting user name and password"
    case .reply, .boundType, .boundRest, .open: place = "before it had opened the tunnel"
    }
    return failure("it closed the connection \(place)")
  }

  /// Processes the bytes of a stage.
  private mutating func take() throws(HTTPError) -> ProxyStep? {
    let bytes = received
    received = []
    switch stage {
    case .method: return .send(try takeMethod(bytes))
    case .password:
      guard bytes[1] == 0 else { throw failure("it does not accept the user name and the password (RFC 1929 §2)") }
      stage = .reply
      return .send(request)
    case .reply:
      guard bytes[0] == 5 else { throw failure("its reply is not one of SOCKS5") }
      guard bytes[1] == 0 else { return try takeRefusal(bytes[1]) }
      stage = .boundType
    case .boundType:
      guard let count = Self.addressLength(type: bytes[1], first: bytes[2]) else {
        throw failure("its reply has an unknown type of address, \(bytes[1])")
      }
      stage = .boundRest(count + 2)
    case .boundRest, .open: stage = .open
    }
    return nil
  }

  private mutating func takeMethod(_ bytes: [UInt8]) throws(HTTPError) -> [UInt8] {
    guard bytes[0] == 5 else { throw failure("its reply is not one of SOCKS5") }
    switch bytes[1] {
    case 0:
      stage = .reply
      return request
    case 2:
      guard let password else { throw failure("it requires a user name and a password") }
      stage = .password
      return password
    case 0xFF where password == nil: throw failure("it requires authentication, and there is no user name")
    case 0xFF: throw failure("it accepts neither a user name and a password nor none (RFC 1928 §3)")
    default: throw failure("it requires a method of authentication that was not offered, \(bytes[1])")
    }
  }

  /// Continues with the next address, if there is one and the refusal may concern only this address.
  private mutating func takeRefusal(_ code: UInt8) throws(HTTPError) -> ProxyStep {
    let reason = "\(Self.meaning(of: code)) (code \(code))"
    refusals.append(addresses.first.map { "\($0): \(reason)" } ?? reason)
    addresses = addresses.dropFirst()
    guard ![2, 7].contains(code), let next = addresses.first, let request = Self.request(to: origin, at: next) else {
      throw failure("it cannot open the tunnel: \(refusals.joined(separator: "; "))")
    }
    self.request = request
    stage = .method
    return .reconnect
  }

  private func failure(_ reason: String) -> HTTPError { server.error(reason, for: origin) }

  /// The meaning of the code in a reply (RFC 1928 §6).
  private static func meaning(of code: UInt8) -> String {
    switch code {
    case 1: "general failure"
    case 2: "its rules do not allow the connection"
    case 3: "the network is unreachable"
    case 4: "the host is unreachable"
    case 5: "the host refused the connection"
    case 6: "the packets' time to live expired"
    case 7: "it does not support CONNECT"
    case 8: "it does not support the type of address"
    default: "unknown"
    }
  }

  /// The request to connect to the origin; nil if its name is too long.
  private static func request(to origin: Origin, at address: IPAddress?) -> [UInt8]? {
    target(origin.host, address).map {
      [5, 1, 0] + $0 + [UInt8(truncatingIfNeeded: origin.port >> 8), UInt8(truncatingIfNeeded: origin.port)]
    }
  }

  /// Returns the type and bytes of an address, or of a name for the proxy to resolve (RFC 1928 §5); nil for a name that
  /// is too long.
  private static func target(_ host: String, _ address: IPAddress?) -> [UInt8]? {
    guard let address = address ?? IPAddress(host) else { return counted(host).map { [3] + $0 } }
    let bytes = withUnsafeBytes(of: address.bits.bigEndian) { Array($0) }
    return address.family == .v4 ? [1] + bytes.suffix(4) : [4] + bytes
  }

  /// Returns the text after its length; nil if it has more than 255 bytes.
  private static func counted(_ text: String) -> [UInt8]? {
    UInt8(exactly: text.utf8.count).map { [$0] + Array(text.utf8) }
  }

  /// The number of bytes of an address after the first one.
  private static func addressLength(type: UInt8, first: UInt8) -> Int? {
    switch type {
    case 1: 3
    case 3: Int(first)
    case 4: 15
    default: nil
    }
  }
}
#endif
