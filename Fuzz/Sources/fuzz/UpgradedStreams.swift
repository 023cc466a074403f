#if os(Linux)
import Glibc
@_spi(Transports) @testable import MartletEngine
@testable import MartletSemantics
@testable import MartletSockets
import MartletTesting

/// A server's output after a request with `Upgrade`, over a real connection. After a valid 101 the stream has exactly
/// the bytes that follow, and returns them. After anything else the call ends with a response or an error.
enum UpgradedStreams {
  private static let switching = Array(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n".utf8)

  static func run(_ input: inout Input) throws {
    let isValid = input.choice(of: [true, true, false])
    let server = Self.server
    let call = Started { try await exchange(over: server.transport) }
    let pieces = input.pieces()
    let connection = server.accept()
    connection.receiveHead()
    // a head and the bytes after it may arrive in one piece
    var first = isValid ? switching : []
    for piece in pieces {
      connection.send(first + piece)
      first = []
    }
    connection.send(first)
    let echo = connection.end()
    let outcome = try? call.value()
    guard isValid else { return }
    let count = outcome?.received.count ?? -1
    check(outcome?.received == input.bytes, "of \(input.bytes.count) bytes came \(count)")
    check(echo == input.bytes, "of \(input.bytes.count) bytes came back \(echo.count)")
  }

  private static let server: UnixServer = {
    do { return try UnixServer() } catch { fatalError("no server: \(error)") }
  }()

  /// The bytes that were read of a stream. It retains the stream, whose release would close it before everything is
  /// sent.
  private struct Outcome {
    let received: [UInt8]
    let stream: any DuplexStream
  }

  /// Reads the stream, and sends everything back. nil if there is none.
  private static func exchange(over transport: SocketTransport) async throws -> Outcome? {
    let request = HTTPRequest(.get, "http://a.example/", fields: [.upgrade: "echo"])
    let response = try await transport.send(request, in: Call())
    guard let stream = response.stream else {
      _ = try await response.body.collect(upTo: 1 << 20)
      return nil
    }
    var received: [UInt8] = []
    while let bytes = try await stream.read() {
      check(!bytes.isEmpty, "no bytes were read")
      received += bytes
      try await stream.write(bytes)
    }
    stream.finish()
    return Outcome(received: received, stream: stream)
  }
}

/// A server at a unix socket, and a transport that connects to it. libFuzzer's thread is the server.
private final class UnixServer: Sendable {
  let transport: SocketTransport
  private let listener: CInt
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let path = folder.file("socket").path
    listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isBound = withUnsafePointer(to: &address) { [listener] in
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) == 0 }
    }
    guard isBound, listen(listener, 16) == 0 else { fatalError("cannot listen at \(path)") }
    var options = SocketTransport.Options()
    options.unixSocket = path
    transport = SocketTransport(options: options)
  }

  func accept() -> UnixConnection {
    waitForInput(of: listener)
    return UnixConnection(descriptor: Glibc.accept(listener, nil, nil))
  }
}

/// The server's end of a connection.
private struct UnixConnection {
  let descriptor: CInt

  func receiveHead() {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let bytes = receive()
      check(!bytes.isEmpty, "the client has ended its request")
      head += bytes
    }
  }

  /// The client may have closed the connection already.
  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Ends this direction, and returns the input until the other direction has ended, too.
  func end() -> [UInt8] {
    _ = shutdown(descriptor, CInt(SHUT_WR))
    var all: [UInt8] = []
    while case let bytes = receive(), !bytes.isEmpty { all += bytes }
    close(descriptor)
    return all
  }

  private func receive() -> [UInt8] {
    waitForInput(of: descriptor)
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    return Array(bytes.prefix(max(0, count)))
  }
}

/// Waits at most five seconds: the client answers at once.
private func waitForInput(of descriptor: CInt) {
  var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  while case let result = poll(&entry, 1, 5000), result <= 0 {
    check(result < 0 && errno == EINTR, "the client does nothing")
  }
}
#endif
