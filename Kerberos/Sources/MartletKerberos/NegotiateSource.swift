public import MartletEngine
public import MartletSemantics
import Synchronization

/// Answers `Negotiate` challenges (SPNEGO, RFC 4559) with the user's Kerberos ticket.
///
/// ```swift
/// configuration.credentials = [NegotiateSource(for: .origin(of: intranet))]
/// ```
///
/// Run `kinit` first, or give the program a keytab: see ``KerberosTickets``.
///
/// **When a token is sent.** The first request to an origin is sent without one. After a 401 with the challenge
/// `Negotiate` it is sent again with a token. Once the origin has accepted one, each further request to it has a token
/// at once, which saves the 401 and a second transmission of the body. A token is for one request. A refused token is
/// not replaced in the same call: the caller gets the 401, and the next call waits for a challenge again.
///
/// **Recipients.** Only origins within the scope get tokens, even after a redirect. A token identifies the user, so
/// name the origins: with `CredentialScope.any`, every server that asks would learn who the user is. Use https: a token
/// is not bound to its connection, because there are no channel bindings (RFC 5929). A server that requires them
/// (Extended Protection) refuses the token.
///
/// **The server's proof.** A response to a token may contain the proof that the server has the key of the service
/// (mutual authentication). If the proof is wrong, the call fails with ``Martlet/HTTPError/Kind/authenticationFailed``;
/// if there is none, as from many servers, the response is accepted.
///
/// **Without a ticket** a challenged call fails with an error that says why, see ``KerberosTickets``; other sources are
/// not tried. The ticket is never delegated to the server.
public final class NegotiateSource: CredentialSource {
  public let scope: CredentialScope
  private let tickets: KerberosTickets
  /// The origins that have accepted a token and get the next one without a challenge.
  private let accepting = Mutex<Set<Origin>>([])
  private let states = CallLocal(CallState())

  /// The state of one call.
  private struct CallState: Sendable {
    /// The origins whose challenges the call has answered.
    var challengers: Set<Origin> = []
    /// The token of the last attempt; nil if it had none.
    var sent: Sent?
  }

  private struct Sent: Sendable {
    let offer: Offer
    let origin: Origin
    /// The value of `Authorization`.
    let authorization: String
  }

  /// Makes a source.
  ///
  /// - Parameters:
  ///   - scope: the origins that may get a token.
  ///   - tickets: the tickets; those of the process by default.
  public init(for scope: CredentialScope, with tickets: KerberosTickets = KerberosTickets()) {
    self.scope = scope
    self.tickets = tickets
  }

  public func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    call[states].sent = nil
    guard let origin = request.origin, call[states].challengers.contains(origin) || accepts(origin) else {
      return request
    }
    let offer = try await tickets.offer(to: origin.host)
    var request = request
    let authorization = "\(tickets.scheme) \(offer.token)"
    request.fields[.authorization] = authorization
    call[states].sent = Sent(offer: offer, origin: origin, authorization: authorization)
    return request
  }

  public func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    if let sent = call[states].sent, sent.authorization == rejection.request.fields[.authorization] {
      accepting.withLock { _ = $0.remove(sent.origin) }
      return false
    }
    guard rejection.challenges.contains(where: { $0.isScheme(tickets.scheme) }) else { return false }
    return call[states].challengers.insert(rejection.origin).inserted
  }

  public func didReceive(_ response: ResponseHead, to request: HTTPRequest, in call: Call) throws {
    guard let sent = call[states].sent else { return }
    let answers = AuthenticationChallenge.challenges(in: response.fields).filter { $0.isScheme(tickets.scheme) }
    if let answer = answers.lazy.compactMap(\.token68).first {
      guard let answer = Data(base64Encoded: answer), sent.offer.isProven(by: answer) else {
        let reason = "the server's proof of its identity is wrong: it does not have the key of"
        throw HTTPError(.authenticationFailed, "\(sent.origin): \(reason) HTTP@\(sent.origin.host)")
      }
    }
    accepting.withLock { accepting in
      if accepting.count >= 1000 { accepting.removeAll() }
      accepting.insert(sent.origin)
    }
  }

  private func accepts(_ origin: Origin) -> Bool { accepting.withLock { $0.contains(origin) } }
}
