import CallDoubles
@_spi(Toolkit) import MartletEngine
@_spi(Credentials) import MartletSemantics
import MartletTesting
import Synchronization

/// A mock server that requires a password and checks it.
final class PasswordServer: Sendable {
  private struct State: Sendable {
    var nonce = "nonce-0"
    var nonceUses = 0
    var seen: Set<String> = []
    var replays = 0
    var challenges = 0
    var requests: [HTTPRequest] = []
  }

  private let scheme: Scheme
  private let state = Mutex(State())
  let credential: Credential

  enum Scheme: Sendable {
    case basic
    /// The parameters of the challenge besides realm and nonce; the number of uses after which a nonce is stale;
    /// whether the challenge then says `stale`.
    case digest(String, usesOfNonce: Int = .max, saysStale: Bool = true)
  }

  init(_ scheme: Scheme, _ credential: Credential = Credential(user: "anna", password: "secret")) {
    self.scheme = scheme
    self.credential = credential
  }

  var requests: [HTTPRequest] { state.withLock { $0.requests } }
  /// The number of 401 responses.
  var challenges: Int { state.withLock { $0.challenges } }
  /// The number of times that a nonce was received again with the same count.
  var replays: Int { state.withLock { $0.replays } }

  /// The schemes of all `Authorization` fields; "-" for a request without.
  var schemes: [String] {
    requests.map { $0.fields[.authorization]?.split(separator: " ").first.map(String.init) ?? "-" }
  }

  var transport: MockTransport {
    MockTransport { [self] call in
      let body = try await call.readBody()
      return respond(to: call.request, body)
    }
  }

  func session(_ sources: any CredentialSource...) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil  // because it sends only one of several equal requests
    configuration.credentials = sources
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func respond(to request: HTTPRequest, _ body: Data) -> MockResponse {
    state.withLock { state in
      state.requests.append(request)
      let isRight: Bool
      var isStale = false
      switch scheme {
      case .basic:
        isRight = request.fields[.authorization] == (try? BasicScheme.authorization(for: credential))
      case .digest(_, let limit, let saysStale):
        (isRight, isStale) = judge(request, body, &state, limit)
        isStale = isStale && saysStale
      }
      guard !isRight else { return .text("welcome") }
      state.challenges += 1
      return .status(.unauthorized, fields: [.wwwAuthenticate: challenge(state, isStale: isStale)])
    }
  }

  private func challenge(_ state: State, isStale: Bool) -> String {
    switch scheme {
    case .basic: #"Basic realm="r", charset="UTF-8""#
    case .digest(let rest, _, _):
      #"Digest realm="r", nonce="\#(state.nonce)", opaque="o"\#(rest)\#(isStale ? ", stale=true" : "")"#
    }
  }

  private func judge(
    _ request: HTTPRequest, _ body: Data, _ state: inout State, _ limit: Int
  ) -> (isRight: Bool, isStale: Bool) {
    guard let sent = AuthenticationChallenge.challenges(in: request.fields, .authorization).first?.parameters,
      let clientNonce = sent["cnonce"], let count = UInt32(sent["nc"] ?? "", radix: 16),
      let challenge = AuthenticationChallenge.challenges(
        in: [.wwwAuthenticate: challenge(state, isStale: false)]
      ).first.flatMap(DigestChallenge.init)
    else { return (false, false) }
    let session = DigestSession(challenge, clientNonce: clientNonce, nonce: sent["nonce"] ?? "", count: count)
    var answer = DigestAnswer(in: session, with: credential, for: (request.method, request.url))
    answer.body = body
    let written = try? answer.authorization(hash: MessageDigest.hash)
    let isRight = written == request.fields[.authorization]
    if !state.seen.insert("\(sent["nonce"] ?? "") \(count)").inserted { state.replays += 1 }
    guard sent["nonce"] == state.nonce, state.nonceUses < limit else {
      if sent["nonce"] == state.nonce {
        state.nonce = "nonce-\(state.challenges)"
        state.nonceUses = 0
      }
      return (false, true)
    }
    state.nonceUses += 1
    return (isRight, false)
  }
}
