import Foundation
import Martlet
import MartletRedis
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ClientTests {
  @Test func manyCallersShareOneConnection() async throws {
    let server = try RedisServer()
    let values = RedisKeyValueStore(RedisClient(try server.configuration()))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<500 {
        group.addTask {
          for _ in 0..<10 {
            let value = Data("\(number) \(UUID())".utf8)
            try await values.set(value, for: "\(number)")
            #expect(try await values.value(for: "\(number)") == value)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try server.connectionsSoFar() == 1)
  }

  @Test func aUnixSocketAndADatabaseMayBeUsed() async throws {
    let server = try RedisServer()
    var configuration = try server.configuration(server.socketURL + "?db=5")
    configuration.prefix = "test:"
    try await RedisKeyValueStore(RedisClient(configuration)).set(Data([1]), for: "a")
    #expect(try server.command("-n", "5", "DBSIZE") == "1")
    #expect(try server.command("-n", "0", "DBSIZE") == "0")
  }

  @Test func aPasswordIsSentAndNeverTold() async throws {
    let server = try RedisServer(["--requirepass", "open sesame"])
    let address = server.url.dropFirst("redis://".count)
    try await RedisClient(try server.configuration("redis://:open%20sesame@\(address)")).ping()
    for url in ["redis://:closed%20sesame@\(address)", "redis://anna:closed%20sesame@\(address)"] {
      let error = await #expect(throws: RedisError.self) { try await RedisClient(server.configuration(url)).ping() }
      #expect(error?.kind == .refused)
      #expect(error?.message.contains("refuses the user or the password") == true)
      #expect(error?.message.contains("sesame") == false)
    }
    let missing = await #expect(throws: RedisError.self) { try await RedisClient(server.configuration()).ping() }
    #expect(missing?.message.contains("NOAUTH") == true)
  }

  @Test func aServerThatDoesNotAnswerIsLeftAloneAndComesBack() async throws {
    let server = try RedisServer()
    var configuration = try server.configuration()
    let patient = RedisClient(configuration)
    configuration.waitLimit = .milliseconds(50)
    let redis = RedisClient(configuration)
    let values = RedisKeyValueStore(patient)
    try await values.set(Data([1]), for: "a")
    var impatient = RedisKeyValueStore(redis)
    impatient.waitLimit = .milliseconds(50)
    try await redis.ping()

    try server.pause()
    var kinds: Set<RedisError.Kind> = []
    while redis.isAvailable {
      do { _ = try await impatient.value(for: "a") } catch let error as RedisError { kinds.insert(error.kind) }
    }
    #expect(kinds.contains(.timeout))
    await #expect(throws: RedisError.self) { try await redis.ping() }

    try server.resume()
    while !redis.isAvailable { await Task.yield() }
    #expect(try await RedisKeyValueStore(redis).value(for: "a") == Data([1]))
  }

  @Test func aConnectionThatTheServerClosesIsMadeAgain() async throws {
    let server = try RedisServer()
    let values = RedisKeyValueStore(RedisClient(try server.configuration()))
    for round in 0..<5 {
      try await values.set(Data([UInt8(round)]), for: "a")
      _ = try server.command("CLIENT", "KILL", "TYPE", "normal")
      // Commands in progress when the connection was lost may fail; later ones do not.
      while (try? await values.value(for: "a")) != Data([UInt8(round)]) {}
    }
  }

  @Test func scriptsAreSentAgainToAServerThatHasForgottenThem() async throws {
    let server = try RedisServer()
    let store = RedisCacheStore(RedisClient(try server.configuration()))
    for _ in 0..<2 {
      let entry = entry("/", length: 3)
      try await store.save(entry, bytes(3))
      #expect(try await store.read(entry) == bytes(3))
      _ = try server.command("SCRIPT", "FLUSH")
    }
  }
}

extension RedisServer {
  /// Runs the server's own client, and returns its output.
  func command(_ arguments: String...) throws -> String {
    let process = try ChildProcess(
      "redis-cli", ["-p", "\(port)"] + arguments, output: .readWithErrors)
    return String(decoding: process.readToEnd(), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The number of commands and scripts that it has refused.
  func refusals() throws -> Int { try number("errorstat_OOM:count=", in: "errorstats") }

  /// The number of commands for all fields of a hash: one for each look-up.
  func lookups() throws -> Int { try number("cmdstat_hgetall:calls=", in: "commandstats") }

  /// The lifetimes of the chunks of a body, in milliseconds.
  func lives(ofChunks prefix: String) throws -> [Int] {
    try command("KEYS", "\(prefix)b:{*").split(separator: "\n").compactMap { Int(try command("PTTL", String($0))) }
  }

  /// Changes the name in all keys.
  func move(_ name: String, _ other: String) throws {
    for key in try command("KEYS", "*{\(name)}*").split(separator: "\n").map(String.init) {
      _ = try command("RENAME", key, key.replacingOccurrences(of: "{\(name)}", with: "{\(other)}"))
    }
  }

  /// Returns the number after a text; 0 if it is not there.
  private func number(_ text: String, in section: String) throws -> Int {
    let rest = try command("INFO", section).components(separatedBy: text)
    return rest.count == 2 ? Int(rest[1].prefix { $0.isNumber }) ?? 0 : 0
  }

  /// The number of connections that Martlet's clients have made.
  func connectionsSoFar() throws -> Int {
    let lines = try command("INFO", "stats").split(separator: "\r\n").flatMap { $0.split(separator: "\n") }
    let count = lines.first { $0.hasPrefix("total_connections_received:") }?.split(separator: ":").last
    // without the connection of this command, and the one that waited for the server's start
    return (count.flatMap { Int($0) } ?? 0) - 2
  }
}
