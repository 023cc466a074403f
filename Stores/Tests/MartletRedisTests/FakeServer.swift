import Foundation
import Glibc
@_spi(Toolkit) import MartletTesting

@testable import MartletRedis

/// A server on 127.0.0.1 that answers commands as a test determines, byte for byte.
final class FakeServer: Sendable {
  /// Returns the bytes to send after a command of a connection. The numbers of connections begin with 0. No words stand
  /// for the start of the connection.
  typealias Answer = @Sendable (_ words: [String], _ connection: Int) -> String

  private struct State: Sendable {
    /// The descriptor of each connection; nil after its end.
    var connections: [Int32?] = []
    var commands: [String] = []
  }

  let port: Int
  private let listener: Int32
  private let state = Awaitable(State())

  init(_ answer: @escaping Answer) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else { throw RedisError(.unavailable, "no port of 127.0.0.1 can be opened") }
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
    let state = state
    Thread.detachNewThread { Self.accept(listener, state, answer) }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    for connection in state.value.connections { if let connection { shutdown(connection, Int32(SHUT_RDWR)) } }
  }

  /// The answers of a server without faults that has `value of NAME` under each name.
  static func usual(_ words: [String]) -> String {
    switch words.first {
    case "AUTH", "SELECT": "+OK\r\n"
    case "PING": "+PONG\r\n"
    case "GET": "$\(9 + words[1].utf8.count)\r\nvalue of \(words[1])\r\n"
    default: ""
    }
  }

  /// Returns a client without a password that waits for the answers.
  func client() throws -> RedisClient {
    var configuration = try RedisConfiguration("redis://127.0.0.1:\(port)")
    (configuration.waitLimit, configuration.connectTimeout) = (.seconds(60), .seconds(60))
    return RedisClient(configuration)
  }

  /// The number of connections so far.
  var connectionCount: Int { state.value.connections.count }

  /// Suspends until a command has arrived.
  func receive(_ command: String) async throws {
    _ = try await state.wait { $0.commands.contains(command) ? true : nil }
  }

  /// Suspends until the client has ended a connection.
  func end(of connection: Int) async throws {
    _ = try await state.wait { $0.connections.count > connection && $0.connections[connection] == nil ? true : nil }
  }

  /// Sends bytes that no command requested.
  func send(_ text: String, over connection: Int) {
    state.update { if let descriptor = $0.connections[connection] { Self.send(text, descriptor) } }
  }

  private static func accept(_ listener: Int32, _ state: Awaitable<State>, _ answer: @escaping Answer) {
    defer { close(listener) }
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { return }
      let number = state.update { state in
        state.connections.append(descriptor)
        return state.connections.count - 1
      }
      Thread.detachNewThread { serve(descriptor, number, state, answer) }
    }
  }

  private static func serve(_ descriptor: Int32, _ number: Int, _ state: Awaitable<State>, _ answer: Answer) {
    var received: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 1 << 16)
    send(answer([], number), descriptor)
    while true {
      let count = recv(descriptor, &room, room.count, 0)
      guard count > 0 else { break }
      received += room[..<count]
      while let words = next(&received) {
        state.update { $0.commands.append(words[0]) }
        send(answer(words, number), descriptor)
      }
    }
    state.update { $0.connections[number] = nil }
    close(descriptor)
  }

  private static func send(_ text: String, _ descriptor: Int32) {
    _ = Array(text.utf8).withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Removes the first command, an array of bulk strings; nil if it is not complete.
  private static func next(_ received: inout [UInt8]) -> [String]? {
    var rest = received[...]
    guard let count = number(&rest) else { return nil }
    var words: [String] = []
    for _ in 0..<count {
      guard let length = number(&rest), rest.count >= length + 2 else { return nil }
      words.append(String(decoding: rest.prefix(length), as: UTF8.self))
      rest = rest.dropFirst(length + 2)
    }
    received = Array(rest)
    return words
  }

  /// Removes a line, which is a byte and a number; nil if it is not complete.
  private static func number(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let line = bytes[..<end].dropFirst().dropLast()
    bytes = bytes[(end + 1)...]
    return Int(String(decoding: line, as: UTF8.self))
  }
}
