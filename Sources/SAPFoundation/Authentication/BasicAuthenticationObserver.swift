import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Answers challenges (Basic, Digest) with a credential that is stored, or that the user gives.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(BasicAuthenticationObserver(credentialDiscovery: loginScreen))
/// ```
///
/// A credential is looked for, and the user asked, once for all requests that wait for it. One that the server refuses is
/// deleted, and the user asked again; if that is refused too, it is deleted as well, and the 401 is the caller's. Credentials
/// go to the server that the app asked, never where only a redirect leads. The names of the initializer's parameters are
/// ours.
open class BasicAuthenticationObserver: SAPURLSessionObserving {
  private let store: Serialized<any BasicCredentialStoring>
  private let discovery: Handed<(any BasicCredentialDiscovery)?>
  private let servers = Locked<[Origin: (url: URL, renewal: Renewal<BasicCredential>)]>([:])

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - credentialStore: where credentials are kept; in memory by default.
  ///   - credentialDiscovery: gets them from the user; without one, only those that are stored are used. It must not use the
  ///     same session for that.
  public init(
    credentialStore: any BasicCredentialStoring = BasicCredentialStorage(),
    credentialDiscovery: (any BasicCredentialDiscovery)? = nil
  ) {
    store = Serialized(credentialStore)
    discovery = Handed(value: credentialDiscovery)
  }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    let space = challenge.protectionSpace
    guard let url = task.originalRequest?.url, let origin = Origin(url),
      origin.host == CookieHost.canonical(space.host),
      origin.port == space.port
    else { return completionHandler(.performDefaultHandling) }
    let renewal = renewal(for: origin, url)
    guard challenge.previousFailureCount < 2 else {
      if let refused = challenge.proposedCredential { forget(BasicCredential(refused), for: url, renewal) }
      return completionHandler(.performDefaultHandling)
    }
    let question = Handed(value: challenge)
    Task { [self = Handed(value: self)] in
      do {
        let credential = try await self.value.credential(for: url, question, renewal)
        completionHandler(credential.map { .use($0.foundation) } ?? .performDefaultHandling)
      } catch { completionHandler(.cancel(error)) }
    }
  }

  private func credential(
    for url: URL, _ question: Handed<URLAuthenticationChallenge>, _ renewal: Renewal<BasicCredential>
  ) async throws -> BasicCredential? {
    guard question.value.previousFailureCount > 0, let refused = question.value.proposedCredential else {
      return try await renewal.value(where: { _ in true }) { [store, discovery] _ in
        if let stored = try store.call({ try $0.credential(for: url) }) { return stored }
        return try await Self.discover(url, question, store, discovery)
      }?.value
    }
    let credential = BasicCredential(refused)
    return try await renewal.value(insteadOf: { $0.value == credential }) { [store, discovery] _ in
      try store.call { try $0.delete(for: url) }
      return try await Self.discover(url, question, store, discovery)
    }?.value
  }

  /// Forgets what was refused, unless somebody has put another in its place.
  private func forget(_ refused: BasicCredential, for url: URL, _ renewal: Renewal<BasicCredential>) {
    let isThere = store.call { store in
      guard (try? store.credential(for: url)) == refused else { return false }
      try? store.delete(for: url)
      return true
    }
    if isThere { renewal.use(nil) }
  }

  private static func discover(
    _ url: URL, _ question: Handed<URLAuthenticationChallenge>, _ store: Serialized<any BasicCredentialStoring>,
    _ discovery: Handed<(any BasicCredentialDiscovery)?>
  ) async throws -> BasicCredential? {
    guard let discovery = discovery.value else { return nil }
    let gate = AnswerGate<BasicCredential?>()
    discovery.provideBasicCredential(for: url, challenge: question.value) { credential, error in
      gate.answer(error.map { .failure($0) } ?? .success(credential))
    }
    let credential = try await gate.wait()
    if let credential { try store.call { try $0.store(credential: credential, for: url) } }
    return credential
  }

  private func renewal(for origin: Origin, _ url: URL) -> Renewal<BasicCredential> {
    servers.withLock { servers in
      let renewal = servers[origin]?.renewal ?? Renewal(nil, StepAside())
      servers[origin] = (url, renewal)
      return renewal
    }
  }
}

extension BasicAuthenticationObserver: CredentialHolder {
  func forgetCredentials() {
    for (url, renewal) in servers.withLock({ Array($0.values) }) {
      store.call { try? $0.delete(for: url) }
      renewal.use(nil)
    }
  }
}

extension BasicCredential {
  fileprivate init(_ credential: URLCredential) {
    self.init(username: credential.user ?? "", password: credential.password ?? "")
  }

  fileprivate var foundation: URLCredential { URLCredential(user: username, password: password, persistence: .none) }
}
