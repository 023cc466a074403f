public import MartletEngine
public import MartletSemantics
import Synchronization

/// Binds the tokens of an ``OAuthClient`` to a key of the client (RFC 9449): the requests for tokens prove that the
/// client has the key, and so do the requests with the tokens.
///
/// `DPoP` of the product `MartletSignatures` is a binding. Implement the protocol if the key is in a device that signs.
/// The client calls it for requests to the authorization server: those of tokens, of a device's code, and pushed ones.
/// The requests with the tokens get their proofs from an ``Martlet/Interceptor``.
public protocol TokenBinding: Sendable {
  /// The type of bound tokens (`token_type`): `DPoP`. Responses may write it in another case.
  var tokenType: String { get }

  /// Identifies the key, such as the thumbprint of RFC 7638. A kept token that is bound to another key is not used.
  var keyID: String { get }

  /// Whether a token that is not bound is refused. If false, such a token is used without the protection.
  var isRequired: Bool { get }

  /// Parameters of the request for an authorization code: `dpop_jkt` (RFC 9449 §10).
  var authorizationParameters: [(name: String, value: String)] { get }

  /// Adds a proof to a request to the authorization server. Called for each attempt, with its URL.
  func prove(_ request: HTTPRequest) throws -> HTTPRequest

  /// Receives each response of the authorization server, for example for its nonce (RFC 9449 §8).
  ///
  /// - Parameters:
  ///   - response: the head of the response.
  ///   - endpoint: the URL of the request.
  ///   - refusal: the server's error; nil if there is none.
  /// - Returns: whether the refused request should be sent once more, because its next proof is another one. The client
  ///   does so at most once.
  func review(_ response: ResponseHead, of endpoint: URL, refusal: OAuthError?) -> Bool
}

/// Adds a proof to each attempt of a request to the authorization server, and keeps the proofs until its response was
/// read: no error may repeat them.
final class ProofInterceptor: Interceptor {
  let stages = InterceptorStages.prepare
  private let binding: any TokenBinding
  private let proofs = Mutex<[String]>([])

  init(_ binding: any TokenBinding) { self.binding = binding }

  /// The values of fields that the binding has added.
  var sent: [String] { proofs.withLock { $0 } }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let proved = try binding.prove(request)
    let added = proved.fields.filter { request.fields[$0.name] != $0.value }.map(\.value)
    proofs.withLock { $0 += added }
    return .send(proved)
  }
}
