#if os(Linux)
import MartletEngine
import MartletSemantics
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// The proxy of the tests, and the origin behind it.
func testProxy(_ credentials: ProxyCredentials? = nil) -> ProxyServer {
  ProxyServer(host: "p.example", port: 3128, credentials: credentials, source: .variable("https_proxy"))
}

/// The user of the tests.
func anna(_ schemes: Set<PasswordScheme> = [.basic, .digest]) -> ProxyCredentials {
  .password(Credential(user: "anna", password: "secret"), schemes: schemes)
}

/// Makes the tokens `t1`, `t2` and so on, for Negotiate.
final class TestTokens: ProxyTokens {
  let scheme = "Negotiate"
  private let asked = Mutex<[String]>([])
  private let failure: (any Error)?

  /// The hosts for which a token was made.
  var hosts: [String] { asked.withLock { $0 } }

  init(failingWith failure: (any Error)? = nil) { self.failure = failure }

  func token(for host: String) async throws -> String {
    if let failure { throw failure }
    return next(host)
  }

  func next(_ host: String = "") -> String {
    asked.withLock { asked in
      asked.append(host)
      return "t\(asked.count)"
    }
  }
}

/// The result of a handshake.
struct ProxyOutcome: Equatable {
  /// The bytes that the client has sent, in order; `reconnect` if it has opened another connection.
  var sent: [[UInt8]] = []
  /// The bytes that the tunnel has received in the same read.
  var rest: [UInt8] = []
  /// nil if the tunnel is open.
  var error: HTTPError?

  static func == (left: Self, right: Self) -> Bool {
    left.sent == right.sent && left.rest == right.rest && left.error?.kind == right.error?.kind
      && left.error?.message == right.error?.message && left.error?.body == right.error?.body
      && left.error?.response == right.error?.response
  }

  static let reconnect = Array("reconnect".utf8)

  /// The sent bytes, as text.
  var texts: [String] { sent.map { String(decoding: $0, as: UTF8.self) } }
}

/// Runs a handshake with scripted answers: each is received after one sending, in pieces of a given size.
///
/// - Parameter endsEach: whether the proxy closes the connection after each answer.
func runProxy(
  _ answers: [[UInt8]], pieces size: Int = .max, endsEach: Bool = false,
  begin: () throws(HTTPError) -> [UInt8], receive: (RawSpan, inout Int) throws(HTTPError) -> ProxyStep,
  end: () throws(HTTPError) -> ProxyStep
) -> ProxyOutcome {
  var outcome = ProxyOutcome()
  do throws(HTTPError) {
    outcome.sent.append(try begin())
    for (number, answer) in answers.enumerated() {
      var offset = 0, step = ProxyStep.needsMore
      while step == .needsMore, offset < answer.count {
        let piece = Array(answer[offset..<(size < answer.count - offset ? offset + size : answer.count)])
        var position = 0
        step = try receive(piece.span.bytes, &position)
        offset += position
        if step == .needsMore, position < piece.count { Issue.record("not everything was consumed") }
      }
      if step == .needsMore, endsEach || number == answers.count - 1 { step = try end() }
      switch step {
      case .needsMore: break
      case .send(let bytes): outcome.sent.append(bytes)
      case .beginAgain: outcome.sent.append(try begin())
      case .reconnect: outcome.sent += [ProxyOutcome.reconnect, try begin()]
      case .open:
        outcome.rest = Array(answer[offset...])
        return outcome
      }
    }
  } catch {
    outcome.error = error
    return outcome
  }
  Issue.record("the script ended before the handshake")
  return outcome
}
#endif
