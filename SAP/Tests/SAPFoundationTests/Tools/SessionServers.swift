import Foundation
import Martlet
import MartletSemantics
import MartletTesting
import SAPFoundationTesting

/// A server that opens a session for every request without one, and whose sessions expire on demand.
protocol SessionServer: Sendable {
  func url(_ target: String) -> URL
  func expireSessions() async throws
  /// The number of times that the most frequent write was received. Reading it resets all counts.
  func mostRepetitions() async throws -> Int
}

/// The server of SAPFoundationTesting.
struct DoubleServer: SessionServer {
  let service: MobileServices
  private let seen = Shared(0)

  init(latency: Duration, users: [String: String] = [:]) throws {
    service = try MobileServices(.init(users: users, latency: latency))
  }

  func url(_ target: String) -> URL { service.url(target) }

  func expireSessions() async throws { service.expireSessions() }

  func mostRepetitions() async throws -> Int {
    let requests = service.requests
    let writes = requests[seen.value...].filter { $0.method == .post }
    seen.change { $0 = requests.count }
    return Dictionary(grouping: writes, by: \.target).values.map(\.count).max() ?? 0
  }
}

/// The same protocol with Python's standard library: a second opinion, from other code on other threads.
final class PythonSessions: SessionServer {
  private let program: PythonProgram
  private let root: String
  private let control = HTTPSession(configuration: .plain)

  init(latency: Duration) throws {
    program = try PythonProgram(Self.script, "\(latency / .seconds(1))")
    root = "http://127.0.0.1:\(try program.port())"
  }

  func url(_ target: String) -> URL { URL(string: root + target) ?? URL(filePath: "/") }

  func expireSessions() async throws { _ = try await control.data(for: HTTPRequest(.get, url("/control/expire"))) }

  func mostRepetitions() async throws -> Int {
    let (text, _) = try await control.data(for: HTTPRequest(.get, url("/control/repetitions")))
    return Int(String(decoding: text, as: UTF8.self)) ?? .max
  }

  private static let script = #"""
    import collections, http.cookies, random, secrets, sys

    latency = float(sys.argv[1])
    lock = threading.Lock()
    sessions = {}
    writes = collections.Counter()

    class Sessions(Handler):
      def do_GET(self):
        if self.path == "/control/expire":
          with lock: sessions.clear()
          return self.reply(200)
        if self.path == "/control/repetitions":
          with lock:
            most = max(writes.values(), default=0)
            writes.clear()
          return self.reply(200, str(most).encode())
        self.serve()

      def serve(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, fields = self.decide()
        time.sleep(random.random() * latency)
        self.reply(status, b"{}", fields)

      def decide(self):
        cookies = http.cookies.SimpleCookie(self.headers.get("Cookie", ""))
        name = cookies["JSESSIONID"].value if "JSESSIONID" in cookies else None
        told = self.headers.get("X-CSRF-Token")
        fields = []
        with lock:
          if name not in sessions:
            name = secrets.token_hex(8)
            sessions[name] = secrets.token_urlsafe(16)
            fields.append(("Set-Cookie", f"JSESSIONID={name}; Path=/; HttpOnly"))
          token = sessions[name]
          if self.command == "POST": writes[self.path] += 1
        if self.command == "POST":
          if told == token: return 201, fields
          return 403, fields + [("X-CSRF-Token", "Required")]
        if told and told.lower() == "fetch": fields.append(("X-CSRF-Token", token))
        return 200, fields

      do_HEAD = do_POST = serve

    serve(Sessions)
    """#
}

extension SessionConfiguration {
  /// Without cookies and cache.
  fileprivate static var plain: SessionConfiguration {
    var configuration = SessionConfiguration()
    (configuration.cookies, configuration.cache) = (nil, nil)
    return configuration
  }
}
