#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// The handshake with a SOCKS5 proxy (RFC 1928, RFC 1929).
struct SOCKS5HandshakeTests {
  private func run(
    _ answers: [[UInt8]], to text: String = "https://a.example/", at address: IPAddress? = nil,
    _ credentials: ProxyCredentials? = nil, pieces: Int = .max
  ) throws -> ProxyOutcome {
    let target = try #require(Origin(url(text)))
    var handshake = try SOCKS5Handshake(to: target, at: address.map { [$0] } ?? [], through: testProxy(credentials))
    return runProxy(
      answers, pieces: pieces, begin: { handshake.greeting },
      receive: { input, position throws(HTTPError) in try handshake.receive(input, from: &position) },
      end: { () throws(HTTPError) in throw handshake.cutOff })
  }

  private static let name: [UInt8] = [5, 1, 0, 3, 9] + Array("a.example".utf8) + [1, 0xBB]
  private static let bound: [UInt8] = [5, 0, 0, 1, 10, 0, 0, 1, 0x12, 0x34]

  @Test func theProxyGetsTheNameAndThePort() throws {
    let outcome = try run([[5, 0], Self.bound])
    #expect(outcome == ProxyOutcome(sent: [[5, 1, 0], Self.name]))
  }

  @Test func theProxyGetsAnAddressIfThereIsOne() throws {
    let four: [UInt8] = [5, 1, 0, 1, 192, 0, 2, 7, 0, 80]
    let six: [UInt8] = [5, 1, 0, 4, 0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0x1F, 0x90]
    #expect(try run([[5, 0], Self.bound], to: "http://192.0.2.7/").sent.last == four)
    #expect(try run([[5, 0], Self.bound], to: "http://[2001:db8::7]:8080/").sent.last == six)
    #expect(try run([[5, 0], Self.bound], to: "http://a.example/", at: IPAddress("192.0.2.7")).sent.last == four)
    #expect(
      try run([[5, 0], Self.bound], to: "http://a.example:8080/", at: IPAddress("2001:db8::7")).sent.last == six)
  }

  @Test func eachAddressOfTheOriginIsTried() throws {
    let target = try #require(Origin(url("http://a.example/")))
    let addresses = try ["192.0.2.7", "2001:db8::7", "192.0.2.8"].map { try #require(IPAddress($0)) }
    func outcome(_ codes: [UInt8]) throws -> ProxyOutcome {
      var handshake = try SOCKS5Handshake(to: target, at: addresses, through: testProxy())
      return runProxy(
        codes.flatMap { [[5, 0], [5, $0] + Self.bound.dropFirst(2)] }, begin: { handshake.greeting },
        receive: { input, position throws(HTTPError) in try handshake.receive(input, from: &position) },
        end: { () throws(HTTPError) in throw handshake.cutOff })
    }
    let second = try outcome([5, 0])
    #expect(second.error == nil)
    #expect(second.sent.map(\.count) == [3, 10, ProxyOutcome.reconnect.count, 3, 22])
    let none = try outcome([5, 3, 4])
    #expect(
      none.error?.message.hasSuffix(
        "it cannot open the tunnel: 192.0.2.7: the host refused the connection (code 5); "
          + "2001:db8::7: the network is unreachable (code 3); 192.0.2.8: the host is unreachable (code 4)") == true)
    // another address would not help
    #expect(try outcome([2]).error?.message.contains("its rules do not allow the connection") == true)
  }

  @Test func userAndPasswordAreSentIfTheProxyAsks() throws {
    let sent: [UInt8] = [1, 4] + Array("anna".utf8) + [6] + Array("secret".utf8)
    #expect(try run([[5, 2], [1, 0], Self.bound], anna()).sent == [[5, 2, 0, 2], sent, Self.name])
    #expect(try run([[5, 2], [5, 0], Self.bound], anna()).sent == [[5, 2, 0, 2], sent, Self.name])
    #expect(try run([[5, 0], Self.bound], anna()).sent == [[5, 2, 0, 2], Self.name])
  }

  @Test func theBoundAddressMayHaveAnyTypeAndIsFollowedByTheOrigin() throws {
    let table: [[UInt8]] = [
      Self.bound, [5, 0, 0, 4] + Array(repeating: 9, count: 18), [5, 0, 0, 3, 0, 1, 2],
      [5, 0, 7, 3, 255] + Array(repeating: 9, count: 257),
    ]
    for reply in table {
      let rest = Array("220 hello".utf8)
      #expect(try run([[5, 0], reply + rest]) == ProxyOutcome(sent: [[5, 1, 0], Self.name], rest: rest))
    }
  }

  @Test func everyPieceIsUnderstood() throws {
    let reply = [5, 0, 0, 3, 200] + [UInt8](repeating: 1, count: 202)
    let whole = try run([[5, 2], [1, 0], reply], anna())
    #expect(whole.error == nil)
    for size in 1..<reply.count { #expect(try run([[5, 2], [1, 0], reply], anna(), pieces: size) == whole) }
  }

  @Test func theEndOfTheConnectionIsAnErrorAtEveryByte() throws {
    let answers: [[UInt8]] = [[5, 2], [1, 0], Self.bound]
    for number in answers.indices {
      for count in 0..<answers[number].count {
        let outcome = try run(Array(answers[..<number]) + [Array(answers[number][..<count])], anna())
        #expect(outcome.error?.kind == .proxyFailed)
        #expect(outcome.error?.phase == .connecting)
        #expect(outcome.error?.message.contains("closed the connection") == true)
      }
    }
  }

  @Test func everyCodeIsNamed() throws {
    let table: [(UInt8, String)] = [
      (1, "general failure"), (2, "rules do not allow"), (3, "network is unreachable"), (4, "host is unreachable"),
      (5, "refused"), (6, "time to live"), (7, "CONNECT"), (8, "type of address"), (9, "unknown"), (255, "unknown"),
    ]
    for (code, meaning) in table {
      // some servers close the connection directly after the code
      let error = try run([[5, 0], [5, code]]).error
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains(meaning) == true)
      #expect(error?.message.hasSuffix("(code \(code))") == true)
      #expect(error?.message.hasPrefix("a.example: the proxy p.example port 3128 (named by https_proxy): ") == true)
    }
  }

  @Test func whatTheProxyRequiresIsNamed() throws {
    let table: [(answers: [[UInt8]], hasUser: Bool, String)] = [
      ([[5, 0xFF]], false, "there is no user name"), ([[5, 0xFF]], true, "neither"),
      ([[5, 2]], false, "requires a user name and a password"), ([[5, 1]], true, "not offered, 1"),
      ([[5, 2], [1, 1]], true, "does not accept the user name and the password"),
      ([Array("HTTP/1.1 400 Bad Request\r\n".utf8)], false, "not one of SOCKS5"),
      ([[4, 0]], false, "not one of SOCKS5"),
      ([[5, 0], [4, 0]], false, "not one of SOCKS5"),
      ([[5, 0], [5, 0, 0, 2, 0]], false, "unknown type of address, 2"),
    ]
    for (answers, hasUser, reason) in table {
      let error = try run(answers, hasUser ? anna() : nil).error
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "no error")")
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test func whatCannotBeTransmittedIsAnError() throws {
    let long = String(repeating: "a", count: 256), limit = String(repeating: "a", count: 255)
    let target = try #require(Origin(url("https://a.example/")))
    func credentials(_ user: String, _ password: String) -> ProxyServer {
      testProxy(.password(Credential(user: user, password: password), schemes: [.basic]))
    }
    for server in [credentials(long, "b"), credentials("a", long)] {
      let error = #expect(throws: HTTPError.self) { try SOCKS5Handshake(to: target, through: server) }
      #expect(error?.kind == .authenticationFailed)
    }
    _ = try SOCKS5Handshake(to: target, through: credentials(limit, limit))
    _ = try SOCKS5Handshake(to: target, through: credentials("a", ""))
    let name = try #require(Origin(url("https://\(long)/")))
    let error = #expect(throws: HTTPError.self) { try SOCKS5Handshake(to: name, through: testProxy()) }
    #expect(error?.kind == .proxyFailed)
  }

  @Test func anyBytesLeadToAnEnd() throws {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<5000 {
      let answers = (0..<3).map { number in
        let start: [UInt8] = Bool.random(using: &random) ? [[5, 2], [1, 0], [5, 0, 0]][number] : []
        return start + (0..<Int.random(in: 0...20, using: &random)).map { _ in UInt8.random(in: 0...5, using: &random) }
      }
      let target = try #require(Origin(origin))
      var handshake = try SOCKS5Handshake(to: target, through: testProxy(anna()))
      for answer in answers {
        var position = 0
        let step = try? handshake.receive(answer.span.bytes, from: &position)
        guard let step, step != .open else { break }
        #expect(position <= answer.count)
      }
    }
  }
}
#endif
