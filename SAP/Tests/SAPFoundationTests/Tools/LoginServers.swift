import Foundation
import Martlet
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A server that requests a login with status 200 and a field, and identifies users by a cookie: `/saml/…` and `/otp/…`
/// are protected, `/login` logs in.
protocol LoginServer: Sendable {
  func url(_ target: String) -> URL
  func expireSessions() async throws
  /// The number of requests for the target.
  func count(of target: String) async throws -> Int
}

enum LoginServerKind: CaseIterable, Sendable {
  case loopback, python

  func make() throws -> any LoginServer {
    switch self {
    case .loopback: try LoopbackLogins()
    case .python: try PythonLogins()
    }
  }
}

/// The server of this project.
final class LoopbackLogins: LoginServer {
  private struct State: Sendable {
    var sessions: Set<String> = []
    var logins = 0
  }

  private let server: LoopbackServer

  private let state: Shared<State>

  init() throws {
    let state = Shared(State())
    self.state = state
    server = try LoopbackServer { request in
      if request.path == "/login" {
        let name = UUID().uuidString
        state.change { $0.sessions.insert(name) }
        return .text("welcome").with(.setCookie, "LOGIN=\(name); Path=/")
      }
      let name = request.fields[.cookie]?.replacing("LOGIN=", with: "") ?? ""
      if state.value.sessions.contains(name) { return .text("\(request.path) \(request.text)") }
      let page = Reply.data(Data("<form>".utf8), type: "text/html").with(.cacheControl, "max-age=60")
      return request.path.hasPrefix("/otp")
        ? page.with("x-smp-authentication", "otp-challenge")
        : page.with("com.sap.cloud.security.login", "login-request")
    }
  }

  func url(_ target: String) -> URL { server.url(target) }
  func expireSessions() { state.change { $0.sessions = [] } }
  func count(of target: String) -> Int { server.requests.filter { $0.path == target }.count }
}

/// Python's standard library, with an authorization server in addition (RFC 6749, RFC 7636).
final class PythonLogins: LoginServer {
  private let program: PythonProgram
  private let root: String
  private let control: HTTPSession

  init() throws {
    program = try PythonProgram(Self.script)
    root = "http://127.0.0.1:\(try program.port())"
    var configuration = SessionConfiguration()
    (configuration.cookies, configuration.cache) = (nil, nil)
    configuration.options.redirectPolicy = .manual
    control = HTTPSession(configuration: configuration)
  }

  func url(_ target: String) -> URL { URL(string: root + target) ?? URL(filePath: "/") }

  func expireSessions() async throws { _ = try await text("/control/expire") }

  func count(of target: String) async throws -> Int {
    let counts = try JSONDecoder().decode([String: Int].self, from: Data(try await text("/control/counts").utf8))
    return counts[target] ?? 0
  }

  /// The fields and the body of the last token request.
  func lastTokenRequest() async throws -> [String: String] {
    try JSONDecoder().decode([String: String].self, from: Data(try await text("/control/token").utf8))
  }

  func text(_ target: String) async throws -> String {
    String(decoding: try await control.data(for: HTTPRequest(.get, url(target))).0, as: UTF8.self)
  }

  private static let script = #"""
    import base64, collections, hashlib, http.cookies, json, secrets, urllib.parse

    lock = threading.Lock()
    sessions, codes, tokens, refreshes = set(), {}, set(), set()
    counts = collections.Counter()
    last = {}

    class Logins(Handler):
      def json(self, value, status=200):
        self.reply(status, json.dumps(value).encode(), [("Content-Type", "application/json")])

      def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        with lock:
          counts[path] += 1
          self.answer(path, dict(urllib.parse.parse_qsl(query)), body)

      do_GET = do_HEAD = do_POST = serve

      def answer(self, path, query, body):
        if path == "/control/expire":
          sessions.clear(); tokens.clear()
          return self.reply(200)
        if path == "/control/forget": refreshes.clear(); tokens.clear(); return self.reply(200)
        if path == "/control/counts": return self.json(counts)
        if path == "/control/token": return self.json(last)
        if path == "/login":
          name = secrets.token_hex(8)
          sessions.add(name)
          return self.reply(200, b"welcome", [("Set-Cookie", f"LOGIN={name}; Path=/; HttpOnly")])
        if path == "/authorize": return self.authorize(query)
        if path == "/token": return self.token(dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True)))
        if path.startswith("/api"):
          if self.headers.get("Authorization", "").removeprefix("Bearer ") in tokens: return self.reply(200, b"for you")
          return self.reply(401, b"", [("WWW-Authenticate", 'Bearer error="invalid_token"')])
        cookies = http.cookies.SimpleCookie(self.headers.get("Cookie", ""))
        if "LOGIN" in cookies and cookies["LOGIN"].value in sessions:
          return self.reply(200, path.encode() + b" " + body)
        challenge = (("x-smp-authentication", "otp-challenge") if path.startswith("/otp")
          else ("com.sap.cloud.security.login", "login-request"))
        self.reply(200, b"<form>", [challenge, ("Content-Type", "text/html")])

      def authorize(self, query):
        to = query["redirect_uri"] + "?"
        if query.get("scope") == "forbidden":
          query = {"error": "access_denied", "error_description": "not for you", "state": query["state"]}
        else:
          if query["response_type"] != "code" or query["client_id"] != "app": return self.reply(400)
          code = secrets.token_urlsafe(8)
          codes[code] = (query["redirect_uri"], query.get("code_challenge"), query.get("code_challenge_method"))
          query = {"code": code, "state": query["state"]}
        self.reply(302, b"", [("Location", to + urllib.parse.urlencode(query))])

      def client(self, form):
        name, secret = form.get("client_id"), form.get("client_secret")
        authorization = self.headers.get("Authorization", "")
        if authorization.startswith("Basic "):
          name, _, secret = base64.b64decode(authorization[6:]).decode().partition(":")
          name, secret = urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(secret)
        return (name, secret)

      def token(self, form):
        last.clear()
        last.update(form, authorization=self.headers.get("Authorization", ""))
        grant, client = form["grant_type"], self.client(form)
        if client not in [("app", None), ("s\u00fc:b", "p w+%&\u00fc")]: return self.json({"error": "invalid_client"}, 401)
        if grant == "authorization_code":
          redirect, challenge, method = codes.pop(form["code"], (None, None, None))
          proof = form.get("code_verifier", "")
          if method == "S256":
            proof = base64.urlsafe_b64encode(hashlib.sha256(proof.encode()).digest()).decode().rstrip("=")
          if redirect != form["redirect_uri"] or (challenge or "") != proof:
            return self.json({"error": "invalid_grant"}, 400)
        elif grant == "refresh_token":
          if form["refresh_token"] not in refreshes: return self.json({"error": "invalid_grant"}, 400)
          refreshes.discard(form["refresh_token"])
        elif grant != "client_credentials": return self.json({"error": "unsupported_grant_type"}, 400)
        token = secrets.token_urlsafe(12)
        tokens.add(token)
        answer = {"access_token": token, "token_type": "bearer", "expires_in": 3600, "scope": "read write"}
        if grant != "client_credentials":
          answer["refresh_token"] = secrets.token_urlsafe(12)
          refreshes.add(answer["refresh_token"])
        self.json(answer)

    serve(Logins)
    """#
}
