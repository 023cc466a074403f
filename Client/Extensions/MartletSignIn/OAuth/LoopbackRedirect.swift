import Dispatch
@_spi(Toolkit) import MartletEngine
@_spi(Credentials) @_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Receives the redirect at the end of a login in a browser, on a port of the loopback interface (RFC 8252 §7.3).
///
/// The port is open from the beginning to ``stop()``. Requests other than the redirect get a 404 and do not count. One
/// task uses it.
final class LoopbackRedirect {
  /// The URL of the redirect, with the port.
  let url: URL
  private let listeners: [Int32]
  /// A pipe. Closing its write end stops the thread that serves the port and has the read end.
  private let running: (read: Int32, write: Int32)
  /// Whether a thread serves the port; that thread closes its descriptors.
  private var isServed = false
  private var isStopped = false
  private let answer = OneShot<String>()

  /// Opens the port of a redirect; the system chooses one if the URL has none.
  init(_ redirect: String) throws(HTTPError) {
    var ends: [Int32] = [-1, -1]
    guard SpareDescriptors.making({ pipe(&ends) }) == 0 else { throw Self.failure("open a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    running = (ends[0], ends[1])
    do throws(HTTPError) {
      (url, listeners) = try Self.open(redirect)
    } catch {
      for end in ends { close(end) }
      throw error
    }
  }

  deinit { stop() }

  /// Closes the port.
  func stop() {
    guard !isStopped else { return }
    isStopped = true
    close(running.write)
    guard !isServed else { return }
    close(running.read)
    for listener in listeners { close(listener) }
  }

  /// Begins to answer requests, until ``stop()``. The first redirect that belongs to this authorization request counts.
  func receive(_ request: AuthorizationCodeRequest) {
    isServed = true
    let port = LoopbackPort(listeners: listeners, running: running.read) { [url, answer] target in
      guard let called = URL(reference: target, relativeTo: url) else { return Self.page("Not found", "404 Not Found") }
      switch request.answer(in: called.absoluteURL) {
      case .code(let code):
        answer.answer(.success(code))
        return Self.page("You are logged in", "200 OK")
      case .refused(let refusal): answer.answer(.failure(HTTPError(OAuthError(refusal))))
      case .otherIssuer(let issuer): answer.answer(.failure(HTTPError(otherIssuer: issuer)))
      case .foreign: return Self.page("Not found", "404 Not Found")
      }
      return Self.page("The login failed", "200 OK")
    }
    DispatchQueue(label: "loopback redirect").async {
      var port = port
      port.serve()
    }
  }

  /// Waits for the code in the redirect.
  func code(within limit: Duration, on clock: any Clock<Duration>) async throws -> String {
    try await Deadline(limit, for: "the login", on: clock).limiting { [answer] in try await answer.wait() }
  }
}

extension LoopbackRedirect {
  /// How many ports are tried if the system's choice for one address is in use on the other.
  private static let attemptLimit = 10

  /// Opens the port of a redirect on each address of its host.
  private static func open(_ redirect: String) throws(HTTPError) -> (url: URL, listeners: [Int32]) {
    guard let url = URL(string: redirect), let addresses = addresses(of: url),
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else {
      throw HTTPError(
        .invalidRequest,
        "the redirect '\(redirect.printable(upTo: 300))' of the login is not an http URL of the loopback interface: use "
          + "the host localhost, 127.0.0.1 or [::1], and no user or fragment",
        phase: .preparing)
    }
    if let port = parts.port { return (url, try openPort(on: addresses, port).listeners) }
    var attempt = 1
    while true {
      do throws(HTTPError) {
        let (listeners, port) = try openPort(on: addresses, 0)
        parts.port = Int(port)
        return (parts.url ?? url, listeners)
      } catch { if attempt == attemptLimit { throw error } }
      attempt += 1
    }
  }

  /// Returns the addresses of a redirect's host, which are of the loopback interface (RFC 8252 §8.3); nil for any other
  /// URL. Browsers connect to either of the addresses of `localhost`.
  private static func addresses(of url: URL) -> [IPAddress]? {
    guard let origin = Origin(url), !origin.isSecure, origin.isLoopback, url.scheme?.hasPrefix("http") == true,
      url.user() == nil, url.fragment() == nil
    else { return nil }
    guard let address = IPAddress(literal: origin.host) else { return [.loopback4, .loopback6] }
    return address.family == .v4 || address == .loopback6 ? [address] : nil
  }

  /// Listens on each of the addresses that the machine has, on one port.
  ///
  /// - Parameter port: the port; 0 lets the system choose one.
  private static func openPort(
    on addresses: [IPAddress], _ port: Int
  ) throws(HTTPError) -> (listeners: [Int32], port: UInt16) {
    var listeners: [Int32] = []
    var port = UInt16(clamping: port)
    for address in addresses {
      let descriptor = SpareDescriptors.making { socket(address.family == .v4 ? AF_INET : AF_INET6, streamType, 0) }
      if descriptor >= 0 { listeners.append(descriptor) }
      if descriptor >= 0, let bound = open(descriptor, on: address, port) {
        port = bound
      } else if errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL, address != addresses[0] {
        if descriptor >= 0 { close(listeners.removeLast()) }  // a machine without IPv6
      } else {
        let failure = failure("listen on \(address), port \(port == 0 ? "any" : "\(port)"),")
        for listener in listeners { close(listener) }
        throw failure
      }
    }
    return (listeners, port)
  }

  /// Returns the port; nil if it cannot be opened, for the reason in `errno`.
  private static func open(_ descriptor: Int32, on address: IPAddress, _ port: UInt16) -> UInt16? {
    // A program that is started to show the page must not keep the port open.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    // The connections of the last login may still be closing.
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    switch address.family {
    case .v4:
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.bits).bigEndian
      name.sin_port = port.bigEndian
      return bindAndListen(descriptor, &name) ? UInt16(bigEndian: name.sin_port) : nil
    case .v6:
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      withUnsafeMutableBytes(of: &name.sin6_addr) { $0[15] = 1 }
      name.sin6_port = port.bigEndian
      return bindAndListen(descriptor, &name) ? UInt16(bigEndian: name.sin6_port) : nil
    }
  }

  /// Listens on an address, and replaces it with the one that the system has chosen.
  private static func bindAndListen<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
    var size = socklen_t(MemoryLayout<Address>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 128) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
  }

  private static func failure(_ action: String) -> HTTPError {
    HTTPError(.other, "cannot \(action) for the login: \(String(cString: strerror(errno)))", phase: .preparing)
  }

  private static func page(_ text: String, _ status: String) -> [UInt8] {
    let page = """
      <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>\(text)</title>
      <body><h1>\(text)</h1><p>You can close this page.</p></body></html>
      """
    return Array(
      ("HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n"
        + "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n\(page)").utf8)
  }
}

#if canImport(Darwin)
private let streamType = SOCK_STREAM
#else
private let streamType: Int32 = 1  // SOCK_STREAM, an enum in Glibc and a number in Musl
#endif
