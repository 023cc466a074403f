import Dispatch
import MartletEngine
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
/// The port is open from the beginning to ``stop()``. Requests other than the redirect get a 404 and do not count. One
/// task uses it.
final class LoopbackRedirect {
  let url: URL
  private let listener: Int32
  /// A pipe. Closing its write end stops the thread that serves the port and has the read end.
  private let running: (read: Int32, write: Int32)
  /// Whether a thread serves the port; that thread closes its descriptors.
  private var isServed = false
  private var isStopped = false
  private let answer = OneShot<String>()

  /// Opens a port.
  init() throws(HTTPError) {
    var ends: [Int32] = [-1, -1]
    guard SpareDescriptors.making({ pipe(&ends) }) == 0 else { throw Self.failure("open a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    running = (ends[0], ends[1])
    do throws(HTTPError) {
      let (listener, port) = try Self.openPort()
      guard let url = URL(string: "http://127.0.0.1:\(port)/callback") else {
        close(listener)
        throw Self.failure("make the URL")
      }
      self.url = url
      self.listener = listener
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
    close(listener)
  }

  /// Begins to answer requests, until ``stop()``. The first redirect that belongs to this authorization request counts.
  func receive(_ request: AuthorizationCodeRequest) {
    isServed = true
    let port = LoopbackPort(listener: listener, running: running.read) { [url, answer] target in
      guard let called = URL(reference: target, relativeTo: url) else { return Self.page("Not found", "404 Not Found") }
      switch request.answer(in: called) {
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
  private static func openPort() throws(HTTPError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = SpareDescriptors.making { socket(AF_INET, streamType, 0) }
    guard descriptor >= 0 else { throw failure("open a socket") }
    // A program that is started to show the page must not keep the port open.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 128) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    guard isOpen else {
      let failure = failure("listen on 127.0.0.1")
      close(descriptor)
      throw failure
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
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
