import Foundation
import MartletTesting
import Synchronization

/// The programs in `Interop/Servers`, each of which has the contract's paths.
enum ServerProgram {
  static func path(_ name: String) -> String { interop.appending(path: "Servers/\(name)").path }

  /// This file is in Interop/Tests/InteropTests/Servers/Contract.
  static let interop = (0..<5).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
}

/// The origin in Go, built once per run from the sources of Debian's packages.
enum GoOrigin {
  static let program = Result {
    let folder = try TemporaryFolder()
    let file = folder.file("origin")
    let cache = ServerProgram.interop.appending(path: ".build/go-cache").path
    let settings = ["GO111MODULE=off", "GOPATH=/usr/share/gocode", "GOCACHE=\(cache)", "GOFLAGS=-trimpath"]
    try RealProcess.run(
      "env", settings + ["go", "build", "-o", file.path, ServerProgram.path("origin.go")], in: folder.url)
    GoOrigin.folder.withLock { $0 = folder }
    return file.path
  }

  private static let folder = Mutex<TemporaryFolder?>(nil)
}

extension ContractServer {
  static let all = [
    go, nginx, haproxy, node, hypercorn, apache, caddy, h2o, tomcat, lighttpd, nghttpx, varnish, envoy, granian,
  ]

  /// 4 streams at once and windows of 64 KiB.
  static let go = ContractServer(
    name: "Go", package: "golang-go with golang-golang-x-net-dev",
    largeField: [.http1: .status(431), .http2: .failure]
  ) { port, setting in
    let arguments = ["-addr", "127.0.0.1:\(port)", "-keys", setting.keys, "-body", setting.pattern.file.path]
    return [try RealProcess(GoOrigin.program.get(), arguments, port: port)]
  }

  /// Empty SETTINGS, and a GOAWAY after a hundred requests.
  static let node = ContractServer(
    name: "Node", package: "nodejs", limitsRequests: [.http2],
    largeField: [.http1: .cut(431), .http2: .status(200)]
  ) { port, setting in
    let arguments = [ServerProgram.path("server.mjs"), "\(port)", setting.keys, setting.pattern.file.path]
    return [try RealProcess("node", arguments, port: port)]
  }

  /// Closes idle connections without GOAWAY, and a connection with more than 20 streams at once. Its limit of requests
  /// cannot be reached: over HTTP/2 it then fails the open streams.
  static let hypercorn = ContractServer(
    name: "Hypercorn", package: "hypercorn",
    lacks: [
      Lack(.requestTrailers, "ASGI has none"),
      Lack(.responseTrailers, over: [.http1], "it ends the connection instead of the body"),
    ],
    largeField: [.http1: .status(431), .http2: .failure]
  ) { port, setting in
    let keys = setting.keys
    let settings = setting.folder.appending(path: "hypercorn.toml")
    let lines = ["keep_alive_max_requests = 1000000", "keep_alive_timeout = 1", "h2_max_concurrent_streams = 20"]
    try Data(lines.joined(separator: "\n").utf8).write(to: settings)
    let folder = URL(filePath: ServerProgram.path("app.py")).deletingLastPathComponent().path
    let arguments = [
      "PYTHONPATH=\(folder)", "PYTHONDONTWRITEBYTECODE=1", "BODY=\(setting.pattern.file.path)", try Python.path(),
      "-m", "hypercorn", "-b", "127.0.0.1:\(port)", "-c", settings.path, "--certfile", "\(keys)/server.pem",
      "--keyfile", "\(keys)/server.key", "--ca-certs", "\(keys)/ca.pem", "--verify-mode", "CERT_REQUIRED", "app:app",
    ]
    return [try RealProcess("env", arguments, port: port)]
  }

  /// Rust's hyper.
  static let granian = ContractServer(
    name: "Granian", package: "granian",
    lacks: [
      Lack(.requestTrailers, "ASGI has none"), Lack(.responseTrailers, "it does not know the extension"),
      Lack(.idleLimit, "it cannot be set"),
    ],
    largeField: [.http1: .status(200), .http2: .status(200)]
  ) { port, setting in
    let keys = setting.keys
    let folder = URL(filePath: ServerProgram.path("app.py")).deletingLastPathComponent().path
    let arguments = [
      "PYTHONPATH=\(folder)", "PYTHONDONTWRITEBYTECODE=1", "BODY=\(setting.pattern.file.path)", try Python.path(),
      "-m", "granian", "--interface", "asgi", "--host", "127.0.0.1", "--port", "\(port)", "--http", "auto",
      "--ssl-certificate", "\(keys)/server.pem", "--ssl-keyfile", "\(keys)/server.key", "--ssl-ca",
      "\(keys)/ca.pem", "--ssl-client-verify", "app:app",
    ]
    return [try RealProcess("env", arguments, port: port)]
  }

  /// A hundred requests on each connection over HTTP/1.1, and a PING before anything else over HTTP/2.
  static let tomcat = ContractServer(
    name: "Tomcat", package: "libtomcat10-embed-java with libtomcat10-java", limitsRequests: [.http1],
    largeField: [.http1: .status(400), .http2: .failure]
  ) { port, setting in
    let jars = ["tomcat10-embed-core", "tomcat10-annotations-api"].map { "/usr/share/java/\($0).jar" }
    let arguments = [
      "-Xshare:auto", "-cp", jars.joined(separator: ":"), ServerProgram.path("TomcatServer.java"), "\(port)",
      setting.keys, setting.pattern.file.path, setting.folder.path,
    ]
    return [try RealProcess("java", arguments, port: port)]
  }
}
