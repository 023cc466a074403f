import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Answers the challenges of one task: asks observers and the delegate, and lets the engine compute what they answered with.
final class ChallengeSource: CredentialSource {
  let scope = CredentialScope.any
  private let task: SAPURLSessionTask
  private let state: Locked<State>
  private let passwords: PasswordSource

  private struct State {
    var rejection: Rejection?
    var last: URLCredential?
    var isRejected = false
  }

  init(_ task: SAPURLSessionTask) {
    let state = Locked(State())
    self.task = task
    self.state = state
    passwords = PasswordSource(forOneExchange: { try await Self.answer($0, for: task, state) })
  }

  func authorize(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    try await passwords.authorize(request, in: exchange)
  }

  /// Where the answer was to reject the strongest scheme, the next one is asked about.
  func authenticate(after rejection: Rejection, in exchange: Exchange) async throws -> Bool {
    var rejection = rejection
    while true {
      state.withLock { ($0.rejection, $0.isRejected) = (rejection, false) }
      if try await passwords.authenticate(after: rejection, in: exchange) { return true }
      guard state.withLock({ $0.isRejected }), let rest = rejection.withoutStrongest() else { return false }
      rejection = rest
    }
  }

  func accepted(_ response: ResponseHead, to request: HTTPRequest, in exchange: Exchange) throws {
    try passwords.accepted(response, to: request, in: exchange)
  }

  private static func answer(
    _ question: PasswordQuestion, for task: SAPURLSessionTask, _ state: Locked<State>
  ) async throws -> Credential? {
    let origin = question.space.origin
    let space = URLProtectionSpace(
      host: origin.host, port: origin.port, protocol: origin.scheme, realm: question.space.realm,
      authenticationMethod: question.sendsPassword
        ? NSURLAuthenticationMethodHTTPBasic : NSURLAuthenticationMethodHTTPDigest)
    let storage = task.session.foundationConfiguration.urlCredentialStorage
    let (rejection, last) = state.withLock { ($0.rejection, $0.last) }
    let proposed = last ?? storage?.credential(for: space)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: proposed, previousFailureCount: question.failureCount,
      failureResponse: rejection.flatMap { $0.response.urlResponse(from: $0.request.url) }, error: nil,
      sender: ChallengeSender())
    let answer = try await task.consult(SAPURLSession.AuthChallengeDisposition.performDefaultHandling) {
      events, _, done in
      events.sapURLSession(task.session, task: task, didReceive: challenge, completionHandler: done)
    }
    switch answer {
    case .use(let credential):
      state.withLock { $0.last = credential }
      if credential.persistence != .none { storage?.set(credential, for: space) }
      return credential.password.map { Credential(user: credential.user ?? "", password: $0) }
    case .performDefaultHandling:
      guard question.failureCount == 0, let proposed, let password = proposed.password else { return nil }
      state.withLock { $0.last = proposed }
      return Credential(user: proposed.user ?? "", password: password)
    case .rejectProtectionSpace:
      state.withLock { $0.isRejected = true }
      return nil
    case .cancel: return nil
    }
  }
}

/// A challenge has to have somebody to answer to; here the completion handler is the way.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}

extension URLCredentialStorage {
  /// The first user's credential. Looked for by what a protection space says: on Linux two equal ones are not found equal.
  fileprivate func credential(for space: URLProtectionSpace) -> URLCredential? {
    let known = allCredentials.first { known, _ in
      known.host == space.host && known.port == space.port && known.protocol == space.protocol
        && known.realm == space.realm && known.authenticationMethod == space.authenticationMethod
    }
    return known?.value.min { $0.key < $1.key }?.value
  }
}

extension Rejection {
  /// The same without the lines of the scheme that is answered first; nil if nothing is left.
  fileprivate func withoutStrongest() -> Rejection? {
    let scheme = challenges.contains { $0.isScheme("Digest") } ? "Digest" : "Basic"
    let rest = response.fields[values: .wwwAuthenticate].filter { line in
      !AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line]).contains { $0.isScheme(scheme) }
    }
    var head = response
    head.fields.remove(.wwwAuthenticate)
    for line in rest { head.fields.append(line, for: .wwwAuthenticate) }
    return rest.isEmpty ? nil : Rejection(of: request, by: head)
  }
}
