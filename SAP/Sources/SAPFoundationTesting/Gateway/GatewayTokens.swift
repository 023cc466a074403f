import MartletSemantics
import MartletTesting

/// The tokens of a gateway (RFC 6749), and the replies of its endpoints below `/oauth2/api/v1`:
/// - `GET authorize?response_type=code&client_id=…&redirect_uri=…`, with Basic credentials for a login page, redirects
///   with a code.
/// - `POST token` takes the grants `authorization_code`, `password`, `client_credentials` and `refresh_token`.
///
/// A code or refresh token works once. A refresh token that is used again also ends the tokens that came of it (RFC
/// 9700 §4.14.2). Clients and proof keys are not checked.
struct GatewayTokens: Sendable {
  /// Tokens of one sign-in.
  struct Grant: Sendable {
    let user: String
    var access: Set<String> = []
    var refresh: String
  }

  private var codes: [String: String] = [:]
  private var grants: [Int: Grant] = [:]
  /// The grants by refresh token, used ones as well.
  private var refreshTokens: [String: Int] = [:]
  private var lastGrant = 0

  /// Returns the user of an access token.
  func user(of access: Substring) -> String? { grants.values.first { $0.access.contains(String(access)) }?.user }

  mutating func expire() {
    for id in grants.keys { grants[id]?.access = [] }
  }

  mutating func makeCode(for user: String) -> String {
    let code = Self.unique("code")
    codes[code] = user
    return code
  }

  mutating func reply(to request: ReceivedRequest, users: [String: String], refusesRefresh: Bool) -> Reply {
    let form = Dictionary(PercentEncoding.form.pairs(in: request.text).map { ($0.name, $0.value) }) { first, _ in first
    }
    switch form["grant_type"] {
    case "password":
      guard let user = form["username"], let password = form["password"], users[user] == password else {
        return Self.refusal("invalid_grant")
      }
      return grant(user)
    case "client_credentials": return grant("client")
    case "authorization_code":
      guard let user = form["code"].flatMap({ codes.removeValue(forKey: $0) }) else {
        return Self.refusal("invalid_grant")
      }
      return grant(user)
    case "refresh_token":
      guard !refusesRefresh, let token = form["refresh_token"], let id = refreshTokens[token] else {
        return Self.refusal("invalid_grant")
      }
      guard grants[id]?.refresh == token else {
        grants[id] = nil
        return Self.refusal("invalid_grant")
      }
      return issue(id)
    case nil: return Self.refusal("invalid_request")
    default: return Self.refusal("unsupported_grant_type")
    }
  }

  mutating func forgetOld() {
    if refreshTokens.count + codes.count > 10_000 { (codes, grants, refreshTokens) = ([:], [:], [:]) }
  }

  private mutating func grant(_ user: String) -> Reply {
    lastGrant += 1
    grants[lastGrant] = Grant(user: user, refresh: "")
    return issue(lastGrant)
  }

  private struct Issued: Encodable {
    let access_token, refresh_token: String
    let token_type = "Bearer"
    let expires_in = 300
  }

  private mutating func issue(_ id: Int) -> Reply {
    let issued = Issued(access_token: Self.unique("access"), refresh_token: Self.unique("refresh"))
    grants[id]?.access = [issued.access_token]
    grants[id]?.refresh = issued.refresh_token
    refreshTokens[issued.refresh_token] = id
    let reply: Reply? = try? .json(encoding: issued)
    return (reply ?? .status(.internalServerError)).with(.cacheControl, "no-store")
  }

  private static func refusal(_ error: String) -> Reply {
    .json(#"{"error":"\#(error)"}"#, status: .badRequest).with(.cacheControl, "no-store")
  }

  private static func unique(_ what: String) -> String {
    "\(what)-\(UInt64.random(in: 0...UInt64.max))-\(UInt64.random(in: 0...UInt64.max))"
  }
}

extension ServiceState {
  /// Returns the reply of the token endpoints; nil if the request is for another resource.
  mutating func tokenReply(to request: ReceivedRequest) -> Reply? {
    switch request.path {
    case "/oauth2/api/v1/token" where request.method == .post:
      return tokens.reply(
        to: request, users: settings.users, refusesRefresh: faults.contains(.refreshRefused))
    case "/oauth2/api/v1/authorize" where request.method == .get:
      guard let user = user(of: request) else { return .unauthorized }
      let query = Dictionary(PercentEncoding.form.pairs(in: request.query ?? "").map { ($0.name, $0.value) }) { $1 }
      guard query["response_type"] == "code", let target = query["redirect_uri"], URL(string: target) != nil,
        target.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
      else { return .text("response_type=code and redirect_uri are needed\n", status: .badRequest) }
      let state = query["state"].map { "&state=" + PercentEncoding.form.encode($0) } ?? ""
      let code = tokens.makeCode(for: user)
      return .redirect(to: target + (target.contains("?") ? "&" : "?") + "code=\(code)\(state)")
    default: return nil
    }
  }
}
