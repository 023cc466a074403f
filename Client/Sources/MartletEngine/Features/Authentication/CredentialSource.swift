public import MartletSemantics

/// A source of credentials for requests to certain origins.
///
/// Four sources are ready-made: ``PasswordSource`` for Basic and Digest (a fixed password, a closure that asks the
/// user, a `.netrc` file), ``TokenSource`` for Bearer tokens that are renewed, `AWSSignatureSource` (product
/// `MartletSignIn`) for AWS signatures, and `NegotiateSource` (product `MartletKerberos`) for Kerberos tickets.
/// Implement the protocol for any other scheme:
///
/// ```swift
/// struct APIKey: CredentialSource {
///   let scope = CredentialScope.matching { $0.isSecure && $0.host == "api.example.com" }
///   let key: String
///
///   func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
///     var request = request
///     request.fields[.authorization] = "ApiKey " + key
///     return request
///   }
/// }
/// configuration.credentials = [APIKey(key: key)]
/// ```
///
/// **Order.** Sources are called in the order of ``SessionConfiguration/credentials``. The first one whose
/// ``authorize(_:in:)`` sets `Authorization` authorizes the attempt. After a 401, ``authenticate(after:in:)`` of that
/// source is called first, then of the other sources, until one returns true. The request is then sent again. If none
/// returns true, the caller gets the 401.
///
/// **Users in URLs.** The user information of a URL, `http://user:password@host/`, precedes the sources for its origin.
/// It is sent after a challenge. Until then, only a ``PasswordSource`` for the same user is asked; fixed passwords and
/// `.netrc` entries of other users are not sent at all.
///
/// **Unchanged requests.** A request with an `Authorization` field, or with a false ``RequestOptions/usesCredentials``,
/// is sent unchanged, and the caller handles its 401.
///
/// **Bodies.** A request whose body can be read only once (``RequestBody/singleUse(length:_:)``) is not sent again if
/// the transport has begun to read the body: its caller gets the 401. The sources are still called, so that the next
/// request has credentials from the start.
///
/// **Redirects and retries.** Sources are called for every attempt, with the URL of that attempt, so that a redirect to
/// another origin never carries the credentials of the first.
public protocol CredentialSource: Sendable {
  /// The origins for which the source has credentials. No method of the source is called for any other origin.
  var scope: CredentialScope { get }

  /// Adds credentials to a request, if they are known before the server asks for them.
  ///
  /// Called before every attempt within the ``scope``, unless the request already has `Authorization`.
  ///
  /// - Parameters:
  ///   - request: the request of this attempt.
  ///   - call: the call that the attempt belongs to. Keep the state of a call in a ``CallLocal``.
  /// - Returns: the request with credentials, or the request unchanged.
  /// - Throws: any error ends the call, with one exception: an ``HTTPError`` that means that a server could not be
  ///   reached. The request is then not sent, but a stored response may answer it; otherwise its ``RetryPolicy``
  ///   applies as if its own server could not be reached.
  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest

  /// Handles a 401: asks for another password, renews a token, stores a nonce.
  ///
  /// The request is sent again if the result is true. Return true only as often as there are new credentials to try,
  /// and keep the number of tries in a ``CallLocal``: otherwise the request is repeated until
  /// ``SessionConfiguration/attemptLimit``. The default implementation returns false.
  ///
  /// - Parameters:
  ///   - rejection: the 401 and its challenges.
  ///   - call: the call that the attempt belongs to.
  /// - Returns: whether ``CredentialSource/authorize(_:in:)`` now returns other credentials than the rejected ones.
  /// - Throws: as ``CredentialSource/authorize(_:in:)``.
  func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool

  /// Receives every response, except a 401, that came over the network to a request which this source authorized.
  ///
  /// The default implementation does nothing.
  ///
  /// - Parameters:
  ///   - response: the head of the response.
  ///   - request: the request as it was sent.
  ///   - call: the call that the attempt belongs to.
  /// - Throws: any error ends the call, for example if the server could not prove its identity.
  func didReceive(_ response: ResponseHead, to request: HTTPRequest, in call: Call) throws
}

/// A source that can authorize most requests immediately. The engine calls `authorizeImmediately` in place of
/// `authorize`, whose default implementation uses it.
@_spi(Credentials) public protocol ImmediateCredentialSource: CredentialSource, AnyObject {
  /// Adds credentials to the request and returns nil, or returns the rest, which does so.
  func authorizeImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<HTTPRequest>?
}

extension ImmediateCredentialSource {
  public func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    var request = request
    return try await authorizeImmediately(&request, in: call)?() ?? request
  }
}

extension CredentialSource {
  /// Returns false: there are no other credentials.
  public func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool { false }

  /// Does nothing.
  public func didReceive(_ response: ResponseHead, to request: HTTPRequest, in call: Call) throws {}
}

/// A 401 response (RFC 9110 §15.5.2), as a ``CredentialSource`` receives it.
public struct Rejection: Sendable {
  /// The challenges of the response, in the server's order.
  public let challenges: [AuthenticationChallenge]
  /// The request as it was sent.
  public let request: HTTPRequest
  /// The head of the response.
  public let response: ResponseHead
  /// The origin of the request's URL.
  public let origin: Origin

  /// Makes a rejection from a request and its response, for tests of a source; nil if the request's URL has no origin.
  public init?(of request: HTTPRequest, by response: ResponseHead) {
    guard let origin = request.origin else { return nil }
    challenges = AuthenticationChallenge.challenges(in: response.fields)
    self.request = request
    self.response = response
    self.origin = origin
  }

  /// Makes a rejection from another, without the challenges of a scheme.
  @_spi(Credentials) public init(_ rejection: Rejection, without scheme: PasswordScheme) {
    challenges = rejection.challenges.filter { !$0.isScheme(scheme.name) }
    request = rejection.request
    response = rejection.response
    origin = rejection.origin
  }
}

/// The origins to which the credentials of a ``CredentialSource`` may be sent.
///
/// The scope holds for every attempt of a call: a redirect to an origin outside carries no credentials.
public struct CredentialScope: Sendable {
  private let predicate: @Sendable (Origin) -> Bool

  private init(_ predicate: @escaping @Sendable (Origin) -> Bool) { self.predicate = predicate }

  /// All origins. Use it only for a source that has its own rule for trusted origins, for example one that asks the
  /// user.
  public static let any = CredentialScope { _ in true }

  /// The origin of a URL: its scheme, host and port. If the URL has no origin, the scope is empty.
  public static func origin(of url: URL) -> CredentialScope { origins(Set([Origin(url)].compactMap { $0 })) }

  /// The given origins.
  public static func origins(_ origins: Set<Origin>) -> CredentialScope { CredentialScope { origins.contains($0) } }

  /// The origins for which the closure returns true: `.matching { $0.isSecure && $0.host.hasSuffix(".example.com") }`.
  ///
  /// The closure is called for every attempt of every request, on any thread; it should be fast.
  public static func matching(_ predicate: @escaping @Sendable (Origin) -> Bool) -> CredentialScope {
    CredentialScope(predicate)
  }

  /// Returns whether the scope contains an origin.
  public func covers(_ origin: Origin) -> Bool { predicate(origin) }
}
