public import MartletSemantics

/// Where the credentials for some origins come from, and how requests carry them.
///
/// Ready-made are ``PasswordSource`` (Basic and Digest: a fixed password, one that is asked for, `.netrc`) and
/// ``TokenSource`` (Bearer, with refresh). One of your own adds what it knows before an attempt, and says whether another
/// attempt is worth while after a 401:
///
/// ```swift
/// struct APIKey: CredentialSource {
///   let scope = CredentialScope.matching { $0.isSecure && $0.host == "api.example.com" }
///   let key: String
///
///   func authorize(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
///     var request = request
///     request.fields[.authorization] = "ApiKey " + key
///     return request
///   }
/// }
/// configuration.credentials = [APIKey(key: key)]
/// ```
///
/// Sources are asked in the order of ``SessionConfiguration/credentials``. The first whose ``authorize(_:in:)`` sets
/// `Authorization` has the attempt, and is asked first when a 401 comes; if it has no other answer, the rest are asked. A
/// request that comes with an `Authorization` of its own is left alone, and so is its 401.
///
/// A request whose body is there only once cannot be sent again: its 401 is the caller's. The sources have heard of it
/// nevertheless, so that the next request may go through at once.
public protocol CredentialSource: Sendable {
  /// The origins that the source answers for: nothing here is called for another one.
  var scope: CredentialScope { get }

  /// Puts on the request what is known before it is sent; returns it unchanged where nothing is.
  ///
  /// Called before every attempt. Throwing ends the exchange; but where an ``HTTPError`` says that nobody could be reached,
  /// the request stays off the network, a cache may answer it, and its ``RetryPolicy`` counts as for a request that was sent.
  func authorize(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest

  /// Reacts to a 401: gets another credential, renews a token, takes note of a nonce.
  ///
  /// Whoever returns true every time sends until ``SessionConfiguration/attemptLimit``: remember in an ``ExchangeLocal``
  /// what was tried. By default there is no other answer.
  ///
  /// - Returns: whether ``authorize(_:in:)`` now has a better answer, and the request is to go again.
  func authenticate(after rejection: Rejection, in exchange: Exchange) async throws -> Bool

  /// Takes note of a response that is no 401 to a request that this source authorized. Throwing ends the exchange.
  /// Does nothing by default.
  func accepted(_ response: ResponseHead, to request: HTTPRequest, in exchange: Exchange) throws
}

extension CredentialSource {
  /// There is no other answer.
  public func authenticate(after rejection: Rejection, in exchange: Exchange) async throws -> Bool { false }

  /// Nothing is to be noted.
  public func accepted(_ response: ResponseHead, to request: HTTPRequest, in exchange: Exchange) throws {}
}

/// A 401 (RFC 9110 §15.5.2), as a ``CredentialSource`` sees it.
public struct Rejection: Sendable {
  /// What the server would accept, in its order.
  public let challenges: [AuthenticationChallenge]
  /// The request as it was sent.
  public let request: HTTPRequest
  /// The head of the response.
  public let response: ResponseHead
  /// The origin that refused.
  public let origin: Origin

  /// Makes one, for tests of a source; nil if the request's URL has no origin.
  public init?(of request: HTTPRequest, by response: ResponseHead) {
    guard let origin = Origin(request.url) else { return nil }
    challenges = AuthenticationChallenge.challenges(in: response.fields)
    self.request = request
    self.response = response
    self.origin = origin
  }
}
