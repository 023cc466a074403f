#if os(Linux)
import Foundation
import FoundationNetworking
package import Martlet
package import MartletEngine
import MartletSemantics

/// libcurl, with the client certificates that observers and the delegate give: one wire for each, because a connection is made
/// with a certificate or without.
///
/// libcurl cannot wait while somebody is asked for a certificate. So he is asked before the first connection to a secure
/// origin; the certificate is shown if the server wants one.
package final class IdentifiedTransport: AskingTransport {
  private let settings: CurlConfiguration
  private let plain: CurlTransport
  private let wires = Locked<[Origin: CurlTransport]>([:])

  package init(_ settings: CurlConfiguration) {
    self.settings = settings
    plain = CurlTransport(settings)
  }

  package func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    try await plain.send(request, in: exchange)
  }

  func send(_ request: HTTPRequest, in exchange: Exchange, for task: SAPURLSessionTask) async throws -> HTTPResponse {
    guard let origin = Origin(request.url), origin.isSecure else { return try await send(request, in: exchange) }
    do { return try await wire(to: origin, for: task).send(request, in: exchange) } catch {
      // what was no good is asked for again by the next request
      if HTTPError(wrapping: error).isTLSFailure { wires.withLock { $0[origin] = nil } }
      throw error
    }
  }

  func forgetAnswers() { wires.withLock { $0 = [:] } }

  private func wire(to origin: Origin, for task: SAPURLSessionTask) async throws -> CurlTransport {
    if let known = wires.withLock({ $0[origin] }) { return known }
    let space = URLProtectionSpace(
      host: origin.host, port: origin.port, protocol: origin.scheme, realm: nil,
      authenticationMethod: SAPClientCertificate.authenticationMethod)
    let answer = try await task.consult(SAPURLSession.AuthChallengeDisposition.performDefaultHandling) {
      events, _, done in
      let challenge = URLAuthenticationChallenge(
        protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
        sender: ChallengeSender())
      events.sapURLSession(task.session, task: task, didReceive: challenge, completionHandler: done)
    }
    var wire = plain
    if case .use(let credential) = answer, let identity = credential as? SAPClientCertificate {
      var settings = settings
      settings.tls.clientCertificate = identity.certificate
      wire = CurlTransport(settings)
    }
    return wires.withLock { wires in
      let first = wires[origin] ?? wire
      wires[origin] = first
      return first
    }
  }
}
#endif
