@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// A Lua script, which the server runs as one step. It is sent once, and then referred to by its digest. No script has
/// a long answer.
struct RedisScript: Sendable {
  private let text: Data
  private let digest: Data

  init(_ text: String) {
    self.text = Data(text.utf8)
    digest = Data(Hexadecimal.text(MessageDigest.sha1(self.text) ?? Data()).utf8)
  }

  /// The command that refers to the script, which the server may not know yet.
  func command(keys: [String], _ arguments: [Data]) -> RedisCommand { command("EVALSHA", digest, keys, arguments) }

  /// The command with the script itself.
  func completeCommand(keys: [String], _ arguments: [Data]) -> RedisCommand { command("EVAL", text, keys, arguments) }

  private func command(_ name: String, _ script: Data, _ keys: [String], _ arguments: [Data]) -> RedisCommand {
    RedisCommand(name, [script, Data("\(keys.count)".utf8)] + keys.map { Data($0.utf8) } + arguments).answeredBriefly
  }
}

extension RedisClient {
  /// Runs a script. All keys have to be in one slot.
  func run(
    _ script: RedisScript, keys: [String], _ arguments: [Data] = [], within limit: Duration? = nil
  ) async throws -> RedisReply {
    let reply = try await send([script.command(keys: keys, arguments)], within: limit)[0]
    if case .error(let message) = reply, message.hasPrefix("NOSCRIPT") {
      return try await send(script.completeCommand(keys: keys, arguments), within: limit)
    }
    return try reply.checked()
  }

  /// Runs a script that must not be left undone, such as a removal. It is sent in full: a server that does not know it
  /// yet runs it even if its caller no longer waits.
  func carryOut(
    _ script: RedisScript, keys: [String], _ arguments: [Data], within limit: Duration? = nil
  ) async throws {
    _ = try await send(script.completeCommand(keys: keys, arguments), within: limit)
  }

  /// Returns the names of all keys that match a pattern, without stopping the server for others.
  ///
  /// - Parameter body: called with some names at a time; a name may occur twice.
  func scan(_ pattern: String, within limit: Duration, _ body: ([String]) async throws -> Void) async throws {
    var cursor = "0"
    repeat {
      let reply = try await send(RedisCommand("SCAN", cursor, "MATCH", pattern, "COUNT", "500"), within: limit)
      guard reply.elements.count == 2, let next = reply.elements[0].bytes else {
        throw RedisError(.unexpectedForm, "the server's answer to SCAN has another form than expected")
      }
      cursor = String(decoding: next, as: UTF8.self)
      let names = reply.elements[1].elements.compactMap { $0.bytes.map { String(decoding: $0, as: UTF8.self) } }
      if !names.isEmpty { try await body(names) }
    } while cursor != "0"
  }

  /// Returns a pattern that matches exactly this text.
  static func literal(_ text: String) -> String {
    text.reduce(into: "") { $0 += "*?[]\\^-".contains($1) ? "\\\($1)" : String($1) }
  }
}

/// Bytes as text.
enum Hexadecimal {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension Data {
  init(_ number: some BinaryInteger) { self.init("\(number)".utf8) }

  /// A time in whole milliseconds, rounded up, and limited to a hundred years: `.seconds(.max)` means "never".
  init(milliseconds time: Duration) { self.init(Int64((time.bounded / .milliseconds(1)).rounded(.up))) }

  init(text: String) { self.init(text.utf8) }
}
