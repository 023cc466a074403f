import Foundation
import Glibc
import MartletEngine
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletRedis

/// A client's behaviour with a server that violates the protocol.
@Suite(.timeLimit(.minutes(5)))
struct ConversationTests {
  private func client(of server: FakeServer) throws -> RedisClient {
    var configuration = try RedisConfiguration("redis://anna:secret@127.0.0.1:\(server.port)/1")
    (configuration.waitLimit, configuration.connectTimeout) = (.seconds(60), .seconds(60))
    (configuration.rest, configuration.restLimit) = (.milliseconds(1), .milliseconds(1))
    return RedisClient(configuration)
  }

  /// Sends a command until there is an answer: while the client connects again, calls fail.
  private func value(of name: String, from redis: RedisClient) async -> String? {
    while true {
      if let reply = try? await redis.send(RedisCommand("GET", name)) {
        return reply.bytes.map { String(decoding: $0, as: UTF8.self) }
      }
      await Task.yield()
    }
  }

  /// The excess bytes of the first connection, and the command after which they are sent; without one, at the start.
  @Test(arguments: [
    ("", "+OK\r\n"), ("AUTH", "+OK\r\n"), ("SELECT", "+OK\r\n"), ("SELECT", "+PONG\r\n"), ("PING", "+PONG\r\n"),
    ("PING", "$5\r\nstray\r\n"), ("PING", "$5\r\nst"), ("PING", "+PO"),
  ])
  func anAnswerTooManyAtTheSignInIsALostConnection(command: String, stray: String) async throws {
    let server = try FakeServer { words, connection in
      FakeServer.usual(words) + (connection == 0 && words.first ?? "" == command ? stray : "")
    }
    let redis = try client(of: server)

    for number in 0..<100 { #expect(await value(of: "\(number)", from: redis) == "value of \(number)") }

    #expect(server.connectionCount == 2)
  }

  @Test(arguments: ["AUTH", "SELECT", "PING"]) func anUnexpectedAnswerToTheSignInIsAnError(command: String) async throws
  {
    let server = try FakeServer { words, _ in words.first == command ? ":1\r\n" : FakeServer.usual(words) }
    let error = await #expect(throws: RedisError.self) { try await client(of: server).ping() }
    #expect(error?.kind == .unexpectedForm)
    #expect(error?.message.contains("redis://127.0.0.1:\(server.port)/1") == true)
  }

  @Test(arguments: ["$5\r\nstray\r\n", "$5\r\nst", "-ERR late\r\n", "+"])
  func anAnswerToNoCommandEndsTheConnection(stray: String) async throws {
    let server = try FakeServer { words, _ in FakeServer.usual(words) }
    let redis = try client(of: server)
    try await redis.ping()

    server.send(stray, over: 0)
    try await server.end(of: 0)

    #expect(await value(of: "a", from: redis) == "value of a")
    #expect(server.connectionCount == 2)
  }

  @Test func anAnswerTooManyAfterTheOnlyCommandEndsTheConnection() async throws {
    let server = try FakeServer { words, connection in
      FakeServer.usual(words) + (connection == 0 && words.first == "GET" ? "$5\r\nstray\r\n" : "")
    }
    let redis = try client(of: server)
    #expect(await value(of: "a", from: redis) == "value of a")
    try await server.end(of: 0)
    #expect(await value(of: "b", from: redis) == "value of b")
  }

  /// Each is refused when it is announced: no further bytes follow for which the client could wait.
  @Test(
    arguments: [
      "*2147483647\r\n", "*9223372036854775807\r\n", "$536870912\r\n", "$9223372036854775807\r\n", "$-2\r\n", "*x\r\n",
      "$5\r\nvalues\r\n", String(repeating: "*1\r\n", count: 10), "+a\n",
      ":" + String(repeating: "1", count: 30), "%1\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
    ].map { Named($0.debugDescription, $0) } + [Named("a long line", "+" + String(repeating: "a", count: 100_000))])
  func aBadAnswerIsALostConnectionWithAnErrorThatNamesTheServer(answer: Named<String>) async throws {
    let server = try FakeServer { words, connection in
      connection == 0 && words.first == "GET" ? answer.value : FakeServer.usual(words)
    }
    let redis = try client(of: server)

    let error = await #expect(throws: RedisError.self) { try await redis.send(RedisCommand("GET", "a")) }

    #expect(error?.kind == .unexpectedForm)
    #expect(error?.message.contains("redis://127.0.0.1:\(server.port)/1") == true)
    #expect(await value(of: "a", from: redis) == "value of a")
    #expect(server.connectionCount == 2)
  }

  @Test func aScriptBringsNoLargeAnswer() async throws {
    let server = try FakeServer { words, _ in
      words.first == "EVALSHA" ? "$1000000\r\n" : FakeServer.usual(words)
    }
    let redis = try client(of: server)
    let error = await #expect(throws: RedisError.self) { try await redis.run(RedisScript("return 1"), keys: ["a"]) }
    #expect(error?.kind == .unexpectedForm)
  }

  @Test func anErrorShowsNeitherControlCharactersNorSecrets() async throws {
    let server = try FakeServer { words, _ in
      switch words.first {
      case "AUTH": "-ERR no \u{1B}[31muser\u{202E} anna with secret\r\n"
      case "GET": "-ERR a\u{7}b\u{202E}c\u{9B}d, with args beginning with: 'value'\r\n"
      default: FakeServer.usual(words)
      }
    }
    let refused = await #expect(throws: RedisError.self) { try await client(of: server).ping() }
    #expect(refused?.message.hasSuffix("password: ERR no  [31muser\u{FFFD} *** with ***") == true)

    let redis = RedisClient(try RedisConfiguration("redis://127.0.0.1:\(server.port)"))
    let error = await #expect(throws: RedisError.self) {
      _ = try await redis.send(RedisCommand("GET", "a"), within: .seconds(60))
    }
    #expect(error?.message == "the Redis server answered: ERR a b\u{FFFD}c d")
  }

  @Test(arguments: [
    ("anna:secret@", ["AUTH", "anna", "secret"]), (":secret@", ["AUTH", "secret"]), ("anna@", ["AUTH", "anna", ""]),
    ("", ["PING"]),
  ])
  func aUserOrAPasswordIsEnoughToSignIn(secrets: String, first: [String]) async throws {
    let commands = Mutex<[[String]]>([])
    let server = try FakeServer { words, _ in
      if !words.isEmpty { commands.withLock { $0.append(words) } }
      return FakeServer.usual(words)
    }
    var configuration = try RedisConfiguration("redis://\(secrets)127.0.0.1:\(server.port)")
    configuration.connectTimeout = .seconds(60)
    try await RedisClient(configuration).ping()
    #expect(commands.withLock { $0.first } == first)
  }

  @Test func anErrorIsShownInFullIfThereIsNoPassword() async throws {
    let server = try FakeServer { words, _ in
      words.first == "AUTH" ? "-ERR no such user\r\n" : FakeServer.usual(words)
    }
    var configuration = try RedisConfiguration("redis://anna@127.0.0.1:\(server.port)")
    configuration.connectTimeout = .seconds(60)
    let redis = RedisClient(configuration)
    let error = await #expect(throws: RedisError.self) { try await redis.ping() }
    #expect(error?.message.hasSuffix("password: ERR no such user") == true)
  }

  @Test func noOtherProgramInheritsTheSocketEvenDuringTheSignIn() async throws {
    let server = try FakeServer { words, _ in words.first == "PING" ? "" : FakeServer.usual(words) }
    let redis = try client(of: server)
    async let answer = redis.send(RedisCommand("GET", "a"))

    try await server.receive("PING")
    let sockets = try descriptors(connectedTo: server.port)
    #expect(sockets.count == 1)
    #expect(sockets.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })

    server.send("+PONG\r\n", over: 0)
    #expect(try await answer.bytes == Data("value of a".utf8))
  }

  @Test func timesWithoutEndAreNoErrors() async throws {
    let server = try FakeServer { words, _ in FakeServer.usual(words) }
    var configuration = try RedisConfiguration("redis://127.0.0.1:\(server.port)")
    (configuration.waitLimit, configuration.connectTimeout) = (.seconds(Int64.max), .seconds(Int64.max))
    (configuration.rest, configuration.restLimit) = (.seconds(Int64.max), .seconds(Int64.max))
    configuration.pingInterval = .seconds(Int64.max)
    let redis = RedisClient(configuration)
    try await redis.ping()
    #expect(try await redis.send(RedisCommand("GET", "a")).bytes == Data("value of a".utf8))
    server.send("stray", over: 0)
    try await server.end(of: 0)
  }

  @Test func aLeaseWithoutEndIsNoError() async throws {
    let leases = Mutex<[[String]]>([])
    let server = try FakeServer { words, _ in
      switch words.first {
      case "HMGET": return "*2\r\n$-1\r\n$-1\r\n"
      case "EVALSHA":
        leases.withLock { $0.append(words) }
        return ":1\r\n"
      case "EVAL": return ":1\r\n"
      default: return FakeServer.usual(words)
      }
    }
    var shared = RedisSharedToken(try server.client(), name: "api")
    shared.lease = .seconds(Int64.max)
    let refresh = shared.refresh { _ in nil }
    #expect(try await refresh(nil) == nil)
    #expect(leases.withLock { $0.first?.last } == "3153600000000")
    #expect(server.connectionCount == 1)
  }

  /// The descriptors of this process with a connection to a port of 127.0.0.1.
  private func descriptors(connectedTo port: Int) throws -> [Int32] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }.filter { descriptor in
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
      }
      return result == 0 && Int(UInt16(bigEndian: address.sin_port)) == port
    }
  }
}
