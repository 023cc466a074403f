#if os(Linux)
@testable import MartletEngine
@_spi(Toolkit) @testable import MartletSemantics
@_spi(Toolkit) @testable import MartletSockets

/// A proxy's answers while a tunnel is opened. The outcome does not depend on how its bytes are cut, and the handshake
/// sends a bounded amount. Bytes after the handshake are left to the tunnel. A failure is an error that names the proxy
/// and no password.
enum ProxyHandshakes {
  static func runConnect(_ input: inout Input) throws {
    let server = proxy(input.choice())
    let endsEach = input.choice(of: [false, true])
    compare(&input) { pieces in
      var authentication = ProxyAuthentication(server.credentials) { "client" }
      var handshake = ConnectHandshake(to: try target(), through: server)
      return try outcome(
        of: pieces, endsEach: endsEach,
        begin: { () throws(HTTPError) in try handshake.request(&authentication) },
        receive: { input, position throws(HTTPError) in
          try handshake.receive(input, from: &position, &authentication)
        },
        end: { () throws(HTTPError) in try handshake.receiveEnd() })
    }
  }

  static func runSOCKS5(_ input: inout Input) throws {
    let choice = input.choice()
    let server = proxy(choice)
    let addresses = ["192.0.2.7", "2001:db8::7", "192.0.2.8"].prefix(choice / 3 % 4).compactMap { IPAddress($0) }
    compare(&input) { pieces in
      var handshake = try SOCKS5Handshake(to: try target(), at: addresses, through: server)
      return try outcome(
        of: pieces, endsEach: false, begin: { () throws(HTTPError) in handshake.greeting },
        receive: { input, position throws(HTTPError) in try handshake.receive(input, from: &position) },
        end: { () throws(HTTPError) in throw handshake.cutOff })
    }
  }

  private struct NoTarget: Error {}

  private static func target() throws -> Origin {
    guard let origin = URL(string: "https://a.example/").flatMap(Origin.init) else { throw NoTarget() }
    return origin
  }

  /// A proxy without a password, with one, or with one that only Digest may send.
  private static func proxy(_ choice: Int) -> ProxyServer {
    let credential = Credential(user: "anna", password: "correct horse")
    let schemes: [Set<PasswordScheme>?] = [nil, [.basic, .digest], [.digest]]
    return ProxyServer(
      host: "p.example", port: 3128,
      credentials: schemes[choice % 3].map { .password(credential, schemes: $0) }, source: .setting)
  }

  /// The result of a handshake.
  private struct Outcome: Equatable {
    var sent: [[UInt8]] = []
    var rest: [UInt8]?
    var failure: String?
  }

  private static func compare(_ input: inout Input, _ run: ([ArraySlice<UInt8>]) throws -> Outcome) {
    do {
      let pieces = input.pieces()
      let (whole, parts) = (try run([input.bytes[...]]), try run(pieces))
      check(whole == parts, "whole: \(whole), cut: \(parts)")
      check(whole.sent.count <= 16 && whole.sent.joined().count < 16 << 10, "it sends without end: \(whole.sent.count)")
      let failure = whole.failure ?? "p.example"
      check(failure.contains("p.example") && !failure.contains("correct horse"), failure)
    } catch { fatalError("no handshake: \(error)") }
  }

  /// Passes the bytes to a handshake. Over each new connection the proxy continues with the rest of them.
  private static func outcome(
    of pieces: [ArraySlice<UInt8>], endsEach: Bool, begin: () throws(HTTPError) -> [UInt8],
    receive: (RawSpan, inout Int) throws(HTTPError) -> ProxyStep, end: () throws(HTTPError) -> ProxyStep
  ) throws -> Outcome {
    var outcome = Outcome()
    do throws(HTTPError) {
      outcome.sent.append(try begin())
      for (number, piece) in pieces.map(Array.init).enumerated() {
        var position = 0
        while position < piece.count {
          let before = position
          let step = try receive(piece.span.bytes, &position)
          check(before...piece.count ~= position, "position \(position) of \(piece.count)")
          switch step {
          case .needsMore: check(position == piece.count, "not everything was consumed")
          case .send(let bytes): outcome.sent.append(bytes)
          case .beginAgain: outcome.sent.append(try begin())
          case .reconnect: outcome.sent.append(try begin())
          case .open:
            outcome.rest = piece[position...] + Array(pieces[(number + 1)...].joined())
            return outcome
          }
          if position == before, step != .needsMore { check(outcome.sent.count < 16, "it goes round in circles") }
        }
      }
      if try end() == .reconnect { outcome.sent.append(try begin()) }
    } catch { outcome.failure = error.description }
    return outcome
  }
}
#endif
