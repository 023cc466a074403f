public import MartletEngine
import MartletSemantics

/// Signs the requests of a session (RFC 9421): each attempt anew, so that redirects and retries have signatures of
/// their own URL and time.
///
/// ```swift
/// let key = try SignatureKey(pem: text, id: "client-1")
/// let signer = RequestSigner(
///   key, covering: [.method, .targetURI], ifPresent: [.field(.contentDigest)], for: .origin(of: api))
/// configuration.finalInterceptors = [signer]
/// configuration.options.contentDigest = .sha256
/// ```
///
/// - Put it into ``Martlet/SessionConfiguration/finalInterceptors``: it then sees all fields that other interceptors
///   and the sources of credentials add, such as `Authorization`.
/// - `Host`, and `Content-Length` of a body whose length is known, can be covered although the transport adds them. All
///   other fields of cookies, the cache and the transport cannot.
/// - A body is covered by its digest: see ``Martlet/RequestOptions/contentDigest``. That of a stream follows the
///   body, so it cannot be covered.
/// - A request that already has a signature with the label is not signed again.
/// - A note of the call says what is signed, with which key: logs, the inspector and `martlet --verbose` show it.
public struct RequestSigner: Interceptor {
  /// Only `prepare`.
  public var stages: InterceptorStages { .prepare }

  /// The label of the signature; `sig1` by default. It must differ from the labels of other signers.
  public var label = "sig1"
  /// The tag of the application, which a protocol may require; nil, the default, for none.
  public var tag: String?
  /// How long the signature is valid (`expires`), in whole seconds; nil, the default, for no limit by the signer.
  public var lifetime: Duration?
  /// Whether the signature names its algorithm (`alg`). True by default: some verifiers need it.
  public var namesAlgorithm = true
  /// Makes a unique value for each signature (`nonce`); nil, the default, for none.
  public var makeNonce: (@Sendable () -> String)?

  private let key: SignatureKey
  private let components: [SignatureComponent]
  private let optional: [SignatureComponent]
  private let scope: CredentialScope
  private let now: @Sendable () -> Date

  /// Makes a signer.
  ///
  /// - Parameters:
  ///   - key: a private key, or a secret.
  ///   - components: the components that are covered. A request that does not have one is not sent.
  ///   - optional: fields that are covered, too, in requests that have them. None by default.
  ///   - scope: the origins whose requests are signed; redirects to other origins are not.
  public init(
    _ key: SignatureKey, covering components: [SignatureComponent], ifPresent optional: [SignatureComponent] = [],
    for scope: CredentialScope
  ) {
    self.init(key, covering: components, ifPresent: optional, for: scope, now: { .now })
  }

  init(
    _ key: SignatureKey, covering components: [SignatureComponent], ifPresent optional: [SignatureComponent] = [],
    for scope: CredentialScope, now: @escaping @Sendable () -> Date
  ) {
    (self.key, self.components, self.optional) = (key, components, optional)
    (self.scope, self.now) = (scope, now)
  }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let origin = request.origin, scope.covers(origin) else { return .send(request) }
    guard try !MessageSignature.all(in: request.fields).contains(where: { $0.label == label }) else {
      return .send(request)
    }
    let head = request.headAsSent(origin)
    let present = optional.filter { component in
      guard let name = try? FieldName(component.name) else { return true }
      return head.fields.contains(name)
    }
    var input = SignatureInput(components + present)
    let time = now()
    input.created = time
    input.expires = lifetime.map { time.addingTimeInterval(TimeInterval($0.components.seconds)) }
    input.nonce = makeNonce?()
    if namesAlgorithm { input.algorithm = key.algorithm }
    input.keyID = key.id
    input.tag = tag
    let signature = try MessageSignature(input, label: label, of: SignatureContext(head), with: key)
    var request = request
    for (name, value) in signature.fields { request.fields.append(value, for: name) }
    call.emit(.note("the request is signed: \(signature.summary)"))
    return .send(request)
  }
}

extension HTTPRequest {
  /// The head with the fields that the transport adds if their values are certain.
  func headAsSent(_ origin: Origin) -> RequestHead {
    var head = head
    if !head.fields.contains(.host) {
      head.fields[.host] = String(origin.description.dropFirst(origin.scheme.count + 3))
    }
    if let length = body.length, !body.isEmpty, !body.hasTrailers, !head.fields.contains(.contentLength) {
      head.fields[.contentLength] = String(length)
    }
    return head
  }
}

/// Verifies the signatures of responses (RFC 9421 §3.2), before the program and other interceptors see them.
///
/// ```swift
/// let verifier = SignatureVerifier(requiring: [.status, .field(.contentDigest)], key: serverKey)
/// configuration.finalInterceptors = [ResponseVerifier(verifier, for: .origin(of: api))]
/// ```
///
/// - A response without a valid signature fails the call with an ``Martlet/HTTPError`` whose
///   ``Martlet/HTTPError/underlying`` is a ``SignatureError``. Its body is not read, and the cache does not store it.
/// - If `Content-Digest` is required, the content is compared with it while it is read, as with
///   ``Martlet/RequestOptions/checksDigests``. A signed response whose digests have unknown algorithms is refused.
///   Over URLSession, content that it decodes itself is not compared.
/// - The head is verified as it was received, before content codings are decoded. Components of the request (`req`) are
///   those of the request as the interceptors sent it. Trailer fields cannot be verified, because they follow the body.
/// - A response from the cache was verified when it was received, and is not verified again.
public struct ResponseVerifier: Interceptor {
  private let verifier: SignatureVerifier
  private let scope: CredentialScope

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - verifier: verifies the signatures.
  ///   - scope: the origins whose responses must be signed.
  public init(_ verifier: SignatureVerifier, for scope: CredentialScope) {
    (self.verifier, self.scope) = (verifier, scope)
  }

  private static let digest = SignatureComponent.field(.contentDigest)

  private var requiresDigest: Bool { verifier.required.contains { $0.identity == Self.digest.identity } }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard requiresDigest, let origin = request.origin, scope.covers(origin) else { return .send(request) }
    var request = request
    request.options.checksDigests = true
    return .send(request)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, let origin = attempt.sent.origin, scope.covers(origin),
      let received = response.networkHead
    else { return .accept }
    let signature = try await verifier.verify(SignatureContext(received, to: attempt.sent.headAsSent(origin)))
    call.emit(.note("the response's signature is valid: \(signature.summary)"))
    if requiresDigest, received.fields.digests(of: .contentDigest).isEmpty {
      throw SignatureError(
        .uncheckedContent, "the signed Content-Digest has no SHA-256 and no SHA-512, so the content cannot be checked")
    }
    return .accept
  }
}
