import MartletEngine
import MartletSemantics
import MartletSignatures

/// Signs requests; those with content together with its digest, which otherwise nothing would protect. A redirect may
/// remove the content.
struct ContentSigner: Interceptor {
  private let withContent: RequestSigner
  private let withoutContent: RequestSigner

  var stages: InterceptorStages { .prepare }

  /// - Parameter optional: fields that are covered in requests that have them.
  init(_ key: SignatureKey, ifPresent optional: [SignatureComponent], for scope: CredentialScope) {
    let head: [SignatureComponent] = [.method, .targetURI]
    let digest = SignatureComponent.field(.contentDigest)
    withoutContent = RequestSigner(key, covering: head, ifPresent: optional, for: scope)
    withContent = RequestSigner(
      key, covering: head + [digest], ifPresent: optional.filter { $0 != digest }, for: scope)
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    try await (request.body.isEmpty ? withoutContent : withContent).prepare(request, in: call)
  }
}

/// Verifies the responses of all servers, and of redirects also the `Location`, which is followed.
struct AnyResponseVerifier: Interceptor {
  private let usual: ResponseVerifier
  private let ofRedirects: ResponseVerifier

  /// - Parameter required: what the signatures must cover.
  init(_ required: [SignatureComponent], _ key: SignatureKey) {
    usual = ResponseVerifier(SignatureVerifier(requiring: required) { _ in key }, for: .any)
    ofRedirects = ResponseVerifier(
      SignatureVerifier(requiring: required + [.field(.location)]) { _ in key }, for: .any)
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    try await usual.prepare(request, in: call)
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, response.status.isRedirection, response.fields.contains(.location)
    else { return try await usual.review(outcome, of: attempt, in: call) }
    return try await ofRedirects.review(outcome, of: attempt, in: call)
  }
}
