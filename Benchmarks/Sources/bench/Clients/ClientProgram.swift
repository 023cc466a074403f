import Foundation
import MeasuredClient

/// A column or a row of a comparison: a client, how it is started, and its abilities.
struct ClientProgram: Sendable {
  enum Ability: Hashable, CaseIterable, Sendable {
    case fetch, download, upload, uploadFile
    /// Decodes gzip, Brotli and zstd.
    case decode
    /// TLS with HTTP/1.1; HTTP/2 too.
    case tls, http2
    /// Thousands of connections at once.
    case crowd
    /// Requests with small bodies.
    case send
    /// WebSockets, and their compression.
    case webSocket, webSocketCompression
  }

  /// How to select it on the command line.
  let key: String
  /// The name in tables.
  let title: String
  let abilities: Set<Ability>
  private let make: @Sendable (_ server: RunningServer, _ connections: Int) throws -> (any ClientRunner)?
  /// The program and its arguments; nil for a command that runs again for each assignment.
  let launch: (@Sendable (_ server: RunningServer, _ connections: Int) -> (program: String, arguments: [String]))?

  /// Starts the client. If it is not installed, throws an error that names the missing part.
  func start(at server: RunningServer, connections: Int) throws -> any ClientRunner {
    guard let runner = try make(server, connections) else { throw BenchError("\(key) is not installed") }
    return runner
  }
}

extension ClientProgram {
  /// The same client restricted to one processor; nil if that is not possible.
  func onOneProcessor() -> ClientProgram? {
    guard let launch, let taskset = Command.find("taskset"), let processor = Self.firstProcessor else { return nil }
    return ClientProgram(
      key, title, without: Set(Ability.allCases).subtracting(abilities)
    ) {
      let (program, arguments) = launch($0, $1)
      return (taskset, ["-c", processor, program] + arguments)
    }
  }

  /// The first processor that this process may use.
  private static var firstProcessor: String? {
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
    return line?.split { !$0.isNumber }.first.map(String.init)
  }

  /// A client whose process is kept between assignments.
  private init(
    _ key: String, _ title: String, without missing: Set<Ability> = [],
    _ launch: @escaping @Sendable (RunningServer, Int) -> (program: String, arguments: [String])
  ) {
    self.init(
      key: key, title: title,
      abilities: Set(Ability.allCases).subtracting(missing),
      make: { server, connections in
        let (program, arguments) = launch(server, connections)
        guard FileManager.default.isExecutableFile(atPath: program) else { return nil }
        return try ClientProcess(program, arguments)
      }, launch: launch)
  }

  private init(_ tool: CommandClient.Tool, _ title: String, _ abilities: Set<Ability>) {
    self.init(
      key: tool.rawValue, title: title, abilities: abilities,
      make: { server, _ in CommandClient(tool, at: server) }, launch: nil)
  }

  /// A client that is part of this program.
  static func own(_ client: OwnClient, title: String, without missing: Set<Ability> = []) -> ClientProgram {
    ClientProgram(client.name, title, without: missing) { server, connections in
      (
        CommandLine.arguments[0],
        ["--client", client.name, "--authority", server.certificate.path, "--connections", "\(connections)"]
      )
    }
  }

  private static func asyncHTTPClient(threads: Int) -> ClientProgram {
    // it has no Brotli and no zstd, and reads files with another module
    let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(component: "bench-async-http-client").path
    return ClientProgram(
      "async-http-client-\(threads)", "AsyncHTTPClient, \(threads == 1 ? "1 thread" : "\(threads) threads")",
      without: [.decode, .uploadFile, .send]
    ) { server, connections in
      (
        program,
        ["--authority", server.certificate.path, "--connections", "\(connections)", "--threads", "\(threads)"]
      )
    }
  }

  private static func python(_ name: String, without missing: Set<Ability>) -> ClientProgram {
    ClientProgram(name, name, without: missing) { server, connections in
      let script = URL(filePath: #filePath).appending(path: "../../../../Peers/python_client.py").standardized.path
      return ("/usr/bin/python3", [script, name, server.certificate.path, "\(connections)"])
    }
  }

  /// With Debian's package `node-ws`.
  private static let node = ClientProgram(
    "node", "node and ws", without: Set(Ability.allCases).subtracting([.webSocket, .webSocketCompression])
  ) { _, _ in
    let script = URL(filePath: #filePath).appending(path: "../../../../Peers/node_client.js").standardized.path
    return ("/usr/bin/env", ["NODE_PATH=/usr/share/nodejs", "node", script])
  }

  private static let go = ClientProgram("go", "Go net/http", without: [.send]) { server, connections in
    let source = URL(filePath: #filePath).appending(path: "../../../../Peers/go_client.go").standardized.path
    return ("/usr/bin/go", ["run", source, server.certificate.path, "\(connections)"])
  }

  /// `scripts/bench` builds it where Debian's crates are.
  private static func hyper(threads: Int) -> ClientProgram {
    let program = URL(filePath: #filePath).appending(path: "../../../../.build/hyper/release/bench-hyper")
      .standardized.path
    return ClientProgram(
      "hyper-\(threads)", "hyper, \(threads == 1 ? "1 thread" : "\(threads) threads")",
      without: Set(Ability.allCases).subtracting([.fetch, .download, .crowd])
    ) { _, connections in (program, ["\(connections)", "\(threads)"]) }
  }

  /// The C loop in its two forms. The others are compared with the one that is better at a workload.
  static let reference = own(.libcurl, title: "C loop, epoll")
  static let references = [reference, own(.libcurlPoll, title: "C loop, poll")]

  /// The clients that are compared over WebSockets, the first with the others.
  static let webSocket = [
    own(.echo, title: "C loop", without: [.webSocketCompression]), own(.martlet(.bare, .sockets), title: "Martlet"),
    python("websockets", without: []), python("aiohttp", without: [.http2, .decode, .uploadFile, .send]), node,
  ]

  /// All clients that are compared. Clients that are not installed are left out later.
  static let all = [
    references[0], references[1], own(.martlet(.bare, .sockets), title: "Martlet, bare"),
    own(.martlet(.default, .sockets), title: "Martlet, default"), asyncHTTPClient(threads: 1),
    asyncHTTPClient(threads: 2), go, hyper(threads: 1), hyper(threads: 2),
    // no stream of bytes for an upload; a handshake that fails makes it hang
    own(.urlSession, title: "URLSession", without: [.upload, .uploadFile, .decode, .tls, .http2, .crowd, .send]),
    python("aiohttp", without: [.http2, .decode, .uploadFile, .send]),
    python("httpx", without: [.http2, .crowd, .decode, .uploadFile, .send]),
    ClientProgram(.curl, "curl (command)", [.download, .upload, .uploadFile]),
    ClientProgram(.wrk, "wrk (server's limit)", [.fetch, .tls]),
    ClientProgram(.h2load, "h2load (server's limit)", [.fetch, .tls, .http2]),
  ]
}
