public import MartletEngine
import MartletSemantics

/// Signs requests as their server asks for it (RFC 9421 §5.2): a request that is refused with `Accept-Signature` is
/// sent once more, with that signature.
///
/// ```swift
/// let allowed: [SignatureComponent] = [.method, .targetURI, .field(.contentDigest)]
/// let signer = AnsweringSigner(key, for: .origin(of: api)) { wanted in
///   wanted.tag == "payments" && wanted.components.contains(.targetURI)
///     && wanted.components.allSatisfy { allowed.contains($0) }
/// }
/// configuration.finalInterceptors = [signer]
/// configuration.options.contentDigest = .sha256   // servers may ask for "content-digest"
/// ```
///
/// - Only a response with a status of 4xx to a request without that signature is answered, at most three times in a
///   call: another attempt, such as one with a renewed token, is not signed at first. A request whose body can be read
///   only once is not sent again.
/// - The server chooses what is signed. The closure decides whether it gets that signature: a signature by this key may
///   have a meaning elsewhere.
/// - Of several signatures that the server asks for, the first one is made that the closure allows, whose key and
///   algorithm are this key's, and whose components the request has. One without components, which would bind nothing,
///   is never made. If there is none, the refusal is the response.
/// - The signature belongs to one request: it has the server's nonce, and is not made for a redirect or for later
///   calls.
/// - Use a ``RequestSigner`` if you know what the server wants: it saves the first request.
public struct AnsweringSigner: Interceptor {
  private let key: SignatureKey
  private let scope: CredentialScope
  private let lifetime: Duration
  private let isAllowed: @Sendable (SignatureRequest) -> Bool
  private let states = CallLocal(CallState())

  /// How many refusals of one call are answered.
  private static let answerLimit = 3

  private struct CallState {
    /// What the server asks for, until it is signed.
    var wanted: SignatureRequest?
    var answers = 0
  }

  /// Makes a signer.
  ///
  /// - Parameters:
  ///   - key: a private key, or a secret.
  ///   - scope: the origins that may ask for signatures.
  ///   - lifetime: how long a signature is valid if the server asks for `expires`; five minutes by default.
  ///   - isAllowed: whether the server gets the signature that it asks for. Decide by its tag and its components.
  public init(
    _ key: SignatureKey, for scope: CredentialScope, lifetime: Duration = .seconds(300),
    allowing isAllowed: @escaping @Sendable (SignatureRequest) -> Bool
  ) {
    (self.key, self.scope, self.lifetime, self.isAllowed) = (key, scope, lifetime, isAllowed)
  }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let wanted = call[states].wanted else { return .send(request) }
    call[states].wanted = nil
    return try await signer(for: wanted).prepare(request, in: call)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, (400...499).contains(response.status.code),
      let head = response.networkHead, head.fields.contains("Accept-Signature"),
      call[states].answers < Self.answerLimit, let origin = attempt.sent.origin, scope.covers(origin),
      attempt.request.body.canBeSent,
      let wanted = choice(in: head, for: attempt.sent, at: origin)
    else { return .accept }
    call[states].wanted = wanted
    call[states].answers += 1
    return .resend(
      attempt.request,
      reason: "\(origin) asks for the signature '\(wanted.label)' of \(wanted.components.count) components")
  }

  private func signer(for wanted: SignatureRequest) throws -> RequestSigner {
    try RequestSigner(answering: wanted, with: key, for: scope, lifetime: lifetime)
  }

  /// Returns the first signature that can and may be made. A malformed field asks for nothing.
  private func choice(in head: ResponseHead, for sent: HTTPRequest, at origin: Origin) -> SignatureRequest? {
    let all = (try? SignatureRequest.all(in: head.fields)) ?? []
    let context = SignatureContext(sent.headAsSent(origin))
    // A label that the request has, this signer's or another's, was refused already.
    guard let labels = try? Set(MessageSignature.all(in: sent.fields).map(\.label)) else { return nil }
    return all.first { wanted in
      guard !wanted.components.isEmpty, !labels.contains(wanted.label), isAllowed(wanted),
        (try? signer(for: wanted)) != nil
      else { return false }
      return (try? MessageSignature.base(SignatureInput(wanted.components), of: context)) != nil
    }
  }
}
