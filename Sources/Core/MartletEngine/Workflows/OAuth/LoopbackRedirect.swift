import Dispatch
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Receives the redirect at the end of a login in a browser, on a port of the loopback interface (RFC 8252 §7.3).
///
/// The port is open from the beginning to ``stop()``. Requests that are not the redirect are answered with a 404, and do
/// not count. One task uses it.
final class LoopbackRedirect {
  let url: URL
  private let descriptor: Int32
  /// nil before ``receive(_:)``; it owns the descriptor afterwards.
  private var listener: (any DispatchSourceRead)?
  private var isStopped = false
  private let answer = OneShot<String>()
  /// The largest number of bytes of a request's head, and how long a browser may take to send it, in seconds.
  private static let headLimit = 32 << 10
  private static let patience = 5

  /// Opens a port.
  init() throws(HTTPError) {
    let (descriptor, port) = try Self.openPort()
    guard let url = URL(string: "http://127.0.0.1:\(port)/callback") else {
      close(descriptor)
      throw Self.failure("URL")
    }
    self.url = url
    self.descriptor = descriptor
  }

  deinit { stop() }

  /// Closes the port.
  func stop() {
    guard !isStopped else { return }
    isStopped = true
    if let listener { listener.cancel() } else { close(descriptor) }
  }

  /// Begins to answer requests, until ``stop()``. The first one that is the redirect of this request counts.
  ///
  /// Each connection is served by itself: browsers open some ahead, on which nothing may come.
  func receive(_ request: AuthorizationCodeRequest) {
    let listener = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "loopback redirect"))
    let connections = DispatchQueue(label: "loopback redirect's connections", attributes: .concurrent)
    listener.setEventHandler { [descriptor, url, answer] in
      let connection = accept(descriptor, nil, nil)
      guard connection >= 0 else {
        // without a free descriptor the connection stays in the queue
        if errno == EMFILE || errno == ENFILE { usleep(100_000) }
        return
      }
      connections.async {
        defer { close(connection) }
        Self.limitWaits(of: connection)
        guard let target = Self.target(from: connection), let called = URL(string: target, relativeTo: url) else {
          return
        }
        switch request.answer(in: called.absoluteURL) {
        case .code(let code):
          Self.send(Self.page("You are logged in", status: "200 OK"), to: connection)
          answer.answer(.success(code))
        case .refused(let refusal):
          Self.send(Self.page("The login failed", status: "200 OK"), to: connection)
          answer.answer(.failure(HTTPError(OAuthError(refusal))))
        case .otherIssuer(let issuer):
          Self.send(Self.page("The login failed", status: "200 OK"), to: connection)
          answer.answer(.failure(HTTPError(otherIssuer: issuer)))
        case .foreign: Self.send(Self.page("Not found", status: "404 Not Found"), to: connection)
        }
      }
    }
    listener.setCancelHandler { [descriptor] in close(descriptor) }
    listener.activate()
    self.listener = listener
  }

  /// Waits for the code in the redirect.
  func code(within limit: Duration, on clock: any Clock<Duration>) async throws -> String {
    try await Deadline(limit, for: "the login", on: clock).holding { [answer] in try await answer.wait() }
  }
}

extension LoopbackRedirect {
  private static func openPort() throws(HTTPError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, streamType, 0)
    guard descriptor >= 0 else { throw failure("socket") }
    // a program that is started to show the page must not keep the port open
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    guard isOpen else {
      let failure = failure("port")
      close(descriptor)
      throw failure
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func failure(_ what: String) -> HTTPError {
    HTTPError(
      .other, "no \(what) of the loopback interface can be opened for the login: \(String(cString: strerror(errno)))",
      phase: .preparing)
  }

  private static func limitWaits(of connection: Int32) {
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    _ = fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_NONBLOCK)
    var patience = timeval()
    patience.tv_sec = Self.patience
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(connection, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    #if canImport(Darwin)
    var on: Int32 = 1
    setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// Reads a request's head, and returns the target of a GET; nil for any other.
  private static func target(from connection: Int32) -> String? {
    var head: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    let start = ContinuousClock.now
    while !head.suffix(buffer.count + 3).contains(endOfHead) {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0, head.count + count <= headLimit, ContinuousClock.now - start < .seconds(patience) else {
        return nil
      }
      head += buffer[..<count]
    }
    let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self).split(separator: " ")
    guard line.count == 3, line[0] == "GET", line[1].hasPrefix("/"), !line[1].hasPrefix("//") else { return nil }
    return String(line[1])
  }

  private static let endOfHead = Array("\r\n\r\n".utf8)

  private static func page(_ text: String, status: String) -> [UInt8] {
    let page = """
      <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>\(text)</title>
      <body><h1>\(text)</h1><p>You can close this page.</p></body></html>
      """
    return Array(
      ("HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n"
        + "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n\(page)").utf8)
  }

  private static func send(_ bytes: [UInt8], to connection: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { sendto(connection, $0.baseAddress, $0.count, sendFlags, nil, 0) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
    shutdown(connection, Int32(SHUT_WR))
  }
}

#if canImport(Darwin)
private let streamType = SOCK_STREAM
private let sendFlags: Int32 = 0
#else
private let streamType: Int32 = 1  // SOCK_STREAM, an enum in Glibc and a number in Musl
private let sendFlags = Int32(MSG_NOSIGNAL)
#endif
