import Foundation
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
import MartletTesting
import Synchronization
import Testing

@testable import MartletSignatures

/// A proof as a server reads it (RFC 9449 §4.3).
struct ReceivedProof {
  let thumbprint: String
  let claims: Claims

  struct Claims: Decodable {
    var ath: String?
    var htm: String
    var htu: String
    var iat: Int
    var jti: String
    var nonce: String?
  }

  /// Returns nil if the field is missing, is repeated, or has no valid proof.
  init?(in fields: HTTPFields) {
    let lines = Array(fields[values: "DPoP"])
    guard lines.count == 1 else { return nil }
    self.init(lines[0])
  }

  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let head = Data(base64URL: parts[0]), let body = Data(base64URL: parts[1]),
      let signature = Data(base64URL: parts[2]),
      let header = try? JSONSerialization.jsonObject(with: head) as? [String: Any],
      header["typ"] as? String == "dpop+jwt", let members = header["jwk"] as? [String: String], members["d"] == nil,
      let jwk = try? JSONEncoder().encode(members),
      let algorithm = SignatureAlgorithm.allCases.first(where: { $0.joseName == header["alg"] as? String }),
      let key = try? SignatureKey(jwk: jwk, algorithm: algorithm), let print = key.thumbprint,
      key.isValid(signature, of: Data((parts[0] + "." + parts[1]).utf8)),
      let claims = try? JSONDecoder().decode(Claims.self, from: body)
    else { return nil }
    (thumbprint, self.claims) = (print, claims)
  }
}

/// An authorization server at `/token` and an API at all other paths, which check all that RFC 9449 demands.
final class ProvenServer: Sendable {
  struct Rules: Sendable {
    /// The nonces that are required; nil for none. They may change.
    var tokenNonce: String?
    var resourceNonce: String?
    /// Whether each response has a new nonce, and the one before is then refused.
    var rotates = false
    /// How many seconds the clock of the server is ahead, which it shows in `Date`.
    var clockOffset = 0.0
    /// The code of a proof with a wrong time.
    var clockError = "invalid_dpop_proof"
    var tokenType = "DPoP"
    /// Answers in place of the API, after the proof was checked.
    var answer: (@Sendable (ReceivedRequest) -> Reply?)?
  }

  struct Seen: Sendable {
    var forms: [[String: String]] = []
    var refusals: [String] = []
    var proofs: [String] = []
    var identifiers: Set<String> = []
    var tokens: [String: String] = [:]
    var count = 0
  }

  let rules: Mutex<Rules>
  let seen = Mutex(Seen())
  private let service = Mutex<LoopbackServer?>(nil)

  init(_ rules: Rules = Rules()) throws {
    self.rules = Mutex(rules)
    let server = try LoopbackServer { [weak self] in self?.answer($0.received) ?? .status(.serviceUnavailable) }
    service.withLock { $0 = server }
  }

  var server: LoopbackServer {
    guard let server = service.withLock({ $0 }) else { preconditionFailure("the server is started in the initializer") }
    return server
  }

  var forms: [[String: String]] { seen.withLock { $0.forms } }
  var refusals: [String] { seen.withLock { $0.refusals } }

  private func answer(_ request: ReceivedRequest) -> Reply {
    let isToken = request.path == "/token" || request.path == "/par"
    let rules = rules.withLock { $0 }
    var reply: Reply
    if let refusal = refusal(of: request, isToken, rules) {
      seen.withLock { $0.refusals.append(refusal) }
      reply = isToken ? .json(#"{"error":"\#(refusal)"}"#, status: .badRequest) : .status(.unauthorized)
      if !isToken { reply.fields[.wwwAuthenticate] = #"DPoP error="\#(refusal)", algs="ES256""# }
    } else {
      reply = isToken ? issue(request, rules) : rules.answer?(request) ?? .text("welcome")
    }
    reply.fields[.date] = HTTPDate.format(Date(timeIntervalSinceNow: rules.clockOffset))
    if let nonce = nextNonce(isToken) { reply.fields["DPoP-Nonce"] = nonce }
    return reply
  }

  private func nextNonce(_ isToken: Bool) -> String? {
    rules.withLock { rules in
      let path: WritableKeyPath<Rules, String?> = isToken ? \.tokenNonce : \.resourceNonce
      if rules.rotates, let nonce = rules[keyPath: path] { rules[keyPath: path] = nonce + "+" }
      return rules[keyPath: path]
    }
  }

  private func refusal(of request: ReceivedRequest, _ isToken: Bool, _ rules: Rules) -> String? {
    guard let proof = ReceivedProof(in: request.fields) else { return isToken ? "invalid_dpop_proof" : "invalid_token" }
    let authorization = request.fields[.authorization] ?? ""
    let token = authorization.hasPrefix("DPoP ") ? String(authorization.dropFirst(5)) : nil
    let time = Date.now.timeIntervalSince1970 + rules.clockOffset
    if abs(Double(proof.claims.iat) - time) > 20 { return rules.clockError }
    let required = isToken ? rules.tokenNonce : rules.resourceNonce
    if let required, proof.claims.nonce != required { return "use_dpop_nonce" }
    let hash = token.flatMap { KeyMaterial.sha256(Data($0.utf8)) }?.base64URL
    let isFresh = seen.withLock { seen in
      seen.proofs.append(proof.thumbprint)
      return seen.identifiers.insert(proof.claims.jti).inserted
    }
    guard isFresh, proof.claims.htm == request.method.rawValue, proof.claims.ath == (isToken ? nil : hash),
      proof.claims.htu == server.url(request.path).absoluteString
    else { return "invalid_dpop_proof" }
    guard !isToken else { return nil }
    return seen.withLock { $0.tokens[token ?? ""] } == proof.thumbprint ? nil : "invalid_token"
  }

  private func issue(_ request: ReceivedRequest, _ rules: Rules) -> Reply {
    let pairs = PercentEncoding.form.pairs(in: request.text)
    let form = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
    let print = ReceivedProof(in: request.fields)?.thumbprint ?? ""
    return seen.withLock { seen in
      seen.forms.append(form)
      if request.path == "/par" { return .json(#"{"request_uri":"urn:r","expires_in":60}"#, status: .created) }
      if let refresh = form["refresh_token"], seen.tokens[refresh] != print {
        return .json(#"{"error":"invalid_grant"}"#, status: .badRequest)
      }
      seen.count += 1
      let (access, refresh) = ("a\(seen.count)", "r\(seen.count)")
      (seen.tokens[access], seen.tokens[refresh]) = (print, print)
      return .json(
        #"{"access_token":"\#(access)","token_type":"\#(rules.tokenType)","refresh_token":"\#(refresh)","expires_in":3600}"#
      )
    }
  }

  /// Makes the access tokens useless, as if they had been revoked.
  func revokeAccess() { seen.withLock { seen in seen.tokens = seen.tokens.filter { $0.key.hasPrefix("r") } } }

  func client(
    _ binding: (any TokenBinding)?, _ authentication: OAuthClient.Authentication = .none
  ) -> OAuthClient {
    var client = OAuthClient(
      id: "app", tokenEndpoint: server.url("/token"), authentication: authentication,
      session: HTTPSession(transport: SocketTransport()))
    client.binding = binding
    return client
  }

  func session(
    _ dpop: DPoP?, _ tokens: TokenSource, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.credentials = [tokens]
    configuration.finalInterceptors = dpop.map { [$0] } ?? []
    configuration.cache = nil
    change(&configuration)
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }
}
