import Glibc
import MartletSemantics
import MartletTesting

/// A client that sends and receives bytes without interpreting them. It fails after 20 seconds instead of hanging.
final class RawClient {
  private let descriptor: Int32

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var timeout = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    let descriptor = descriptor
    let result = Self.withAddress(port) { connect(descriptor, $0, $1) }
    guard result == 0 else { throw Failure(description: "cannot connect: \(String(cString: strerror(errno)))") }
  }

  deinit { Glibc.close(descriptor) }

  /// Whether no socket is bound to the port.
  static func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { Glibc.close(descriptor) }
    return withAddress(port) { bind(descriptor, $0, $1) } == 0
  }

  private static func withAddress(_ port: Int, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// Closes both directions.
  func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw Failure(description: "cannot send: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a GET with the field lines.
  func get(_ target: String, _ fields: String...) throws { try request("GET", target, fields) }

  func request(_ method: String, _ target: String, _ fields: [String] = []) throws {
    try send("\(method) \(target) HTTP/1.1\r\nHost: test\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n")
  }

  /// Receives this number of bytes as text; fewer if the connection ends before.
  func receive(_ count: Int) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < count, let more = try next(upTo: count - bytes.count) { bytes += more }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Receives everything up to the end of the connection, as text.
  func rest() throws -> String { try receive(.max) }

  /// Receives everything up to the end of the connection, and returns the number of bytes.
  func countRest() throws -> Int {
    var count = 0
    while let more = try next(upTo: 1 << 20) { count += more.count }
    return count
  }

  /// Receives a head, with the empty line at its end.
  func head() throws -> String {
    var text = ""
    while !text.hasSuffix("\r\n\r\n"), let byte = try next(upTo: 1) { text += String(decoding: byte, as: UTF8.self) }
    return text
  }

  /// Receives a head, and a body of the length in its Content-Length.
  func response() throws -> (head: String, body: String) {
    let head = try head()
    let line = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
    let length = line.flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
    return (head, try receive(length))
  }

  private func next(upTo count: Int) throws -> [UInt8]? {
    let piece = min(count, 64 << 10)
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: piece) { buffer, used in
      var count = recv(descriptor, buffer.baseAddress, piece, 0)
      while count < 0, errno == EINTR { count = recv(descriptor, buffer.baseAddress, piece, 0) }
      failure = count < 0 ? errno : 0
      used = max(count, 0)
    }
    guard failure == 0 else { throw Failure(description: failure == ECONNRESET ? "reset" : "\(failure)") }
    return bytes.isEmpty ? nil : bytes
  }
}

/// A server and a client that is connected to it.
struct ConnectedServer {
  let server: LoopbackServer
  let client: RawClient

  init(_ respond: @escaping LoopbackServer.Responder) throws {
    server = try LoopbackServer(respond: respond)
    client = try RawClient(port: server.port)
  }

  func send(_ text: String) throws { try client.send(text) }
  func get(_ target: String, _ fields: String...) throws { try client.request("GET", target, fields) }
  func request(_ method: String, _ target: String, _ fields: String...) throws {
    try client.request(method, target, fields)
  }
  func head() throws -> String { try client.head() }
  func response() throws -> (head: String, body: String) { try client.response() }
  func receive(_ count: Int) throws -> String { try client.receive(count) }
  func rest() throws -> String { try client.rest() }
  func countRest() throws -> Int { try client.countRest() }
}
