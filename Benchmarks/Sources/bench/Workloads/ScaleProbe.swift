import Foundation
import Martlet
import MartletSockets
import MartletTesting
import MartletWebSocket
import MeasuredClient
import Synchronization

/// The costs of many requests and connections over sockets. Each is measured in its own process.
enum ScaleProbe: String, CaseIterable {
  /// The memory of 200,000 requests, one after another on eight tasks, beyond that of the first 50,000.
  case requests
  /// The memory of 10,000 calls that wait for 64 connections.
  case waiting
  /// The memory of 5,000 open connections without TLS.
  case open
  /// The memory of 1,000 open WebSockets, as bytes on plain connections.
  case sockets
  /// The throughput of 8 busy connections among 1,000 idle ones, relative to their throughput alone.
  case idle
  /// A process that calls `exit()` in the middle of transfers over TLS.
  case exit

  var title: String {
    switch self {
    case .requests: "growth over 150,000 more requests, KB"
    case .waiting: "a call of 10,000 that wait for 64 connections, KB"
    case .open: "an open connection of 5,000, KB"
    case .sockets: "an open WebSocket of 1,000, KB"
    case .idle: "time of a request beside 1,000 idle connections, relative to without"
    case .exit: "processes of 200 that did not end cleanly"
    }
  }

  var target: String {
    switch self {
    case .requests: "flat"
    case .waiting: "≤ 10"
    case .open: "≤ 24"
    case .sockets: "≤ 32"
    case .idle: "1"
    case .exit: "0"
    }
  }

  static func table(_ probes: [ScaleProbe], at server: RunningServer, _ progress: (String) -> Void) throws
    -> ResultTable
  {
    var table = ResultTable(
      key: "scale", title: "**Many requests and connections** over sockets", columns: ["what", "measured"], digits: 2)
    for probe in probes {
      progress("scale: \(probe.rawValue)")
      table.add("\(probe.title) (target: \(probe.target))", try probe.run(at: server))
    }
    return table
  }

  /// In the child: measures, and prints the figure.
  func perform(at server: RunningServer, number: Int) async throws {
    switch self {
    case .requests: print(try await Self.requests(server))
    case .waiting: print(try await Self.waiting())
    case .open: print(try await Self.open(server))
    case .sockets: print(try await Self.sockets(server))
    case .idle: print(try await Self.idle(server))
    case .exit: try await Self.exit(server, after: number)
    }
  }

  /// In the parent: starts children that do it. Returns the figure.
  func run(at server: RunningServer) throws -> Double {
    let text = String(decoding: try JSONEncoder().encode(server), as: UTF8.self)
    func child(_ number: Int) throws -> String {
      try Command.output(of: CommandLine.arguments[0], ["--scale-probe", rawValue, text, "\(number)"])
    }
    guard self == .exit else {
      let output = try child(0)
      guard let figure = Double(output) else { throw BenchError("\(title): \(output)") }
      return figure
    }
    // in handshakes, in the first bodies, later
    return Double(try (0..<200).count { try child([0, 1, 100_000, 3_000_000][$0 % 4] * ($0 / 4 + 1)) != "ended" })
  }
}

// MARK: - Measuring

extension ScaleProbe {
  private static func session(_ change: (inout ConnectionConfiguration) -> Void = { _ in }) -> (
    HTTPSession, SocketTransport
  ) {
    var connection = ConnectionConfiguration()
    change(&connection)
    let transport = SocketTransport(connection)
    var settings = SessionConfiguration()
    settings.cache = nil
    return (HTTPSession(transport: transport, configuration: settings), transport)
  }

  private static func fetch(_ url: URL, _ session: HTTPSession, times: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<times / 8 { _ = try await session.data(for: HTTPRequest(.get, url)) } }
      }
      try await group.waitForAll()
    }
  }

  private static func requests(_ server: RunningServer) async throws -> Double {
    let (session, _) = session()
    let url = server.plain.appending(component: ServedFile.small.name)
    try await fetch(url, session, times: 50_000)
    let before = try ProcessUsage.memory().resident
    try await fetch(url, session, times: 150_000)
    return Double(try ProcessUsage.memory().resident - before) / 1024
  }

  private static func waiting() async throws -> Double {
    let gate = Gate()
    let server = try LoopbackServer(recording: .nothing) { _ in .text("ok").held(by: gate) }
    let (session, transport) = session { $0.connectionLimitPerHost = 64 }
    let calls = 10_000
    return try await withThrowingTaskGroup(of: Void.self) { group in
      func add(_ count: Int) {
        for _ in 0..<count { group.addTask { _ = try await session.data(for: HTTPRequest(.get, server.url)) } }
      }
      func settle(queued: Int) async throws {
        while await transport.statistics().values.first.map({ $0.active == 64 && $0.queued == queued }) != true {
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      add(64 + 100)
      try await settle(queued: 100)
      let before = try ProcessUsage.memory().resident
      add(calls)
      try await settle(queued: 100 + calls)
      let after = try ProcessUsage.memory().resident
      gate.open()
      try await group.waitForAll()
      return Double(after - before) / Double(calls) / 1024
    }
  }

  private static func open(_ server: RunningServer) async throws -> Double {
    let (_, transport) = session {
      $0.connectionLimitPerHost = nil
      $0.idleConnectionLimit = 10_000
    }
    let connections = 5000
    try await transport.preconnect(to: server.plain, requests: 100)
    let before = try ProcessUsage.memory().resident
    try await transport.preconnect(to: server.plain, requests: 100 + connections)
    let after = try ProcessUsage.memory().resident
    guard let count = await transport.statistics().values.first?.idle, count == 100 + connections else {
      throw BenchError("the connections were not opened")
    }
    return Double(after - before) / Double(connections) / 1024
  }

  private static func sockets(_ server: RunningServer) async throws -> Double {
    let (session, _) = session { $0.connectionLimitPerHost = nil }
    var options = WebSocket.Options()
    options.compression = nil
    var sockets: [WebSocket] = []
    func open(_ count: Int) async throws {
      for _ in 0..<count {
        let socket = try await session.webSocket(for: HTTPRequest(.get, server.echo), options: options)
        try await socket.send(.string("hello"))
        _ = try await socket.receive()
        sockets.append(socket)
      }
    }
    try await open(100)
    let before = try ProcessUsage.memory().resident
    try await open(1000)
    let after = try ProcessUsage.memory().resident
    return Double(after - before) / 1000 / 1024
  }

  private static func idle(_ server: RunningServer) async throws -> Double {
    let url = server.plain.appending(component: ServedFile.small.name)
    let (alone, _) = session()
    let (beside, transport) = session {
      $0.connectionLimitPerHost = nil
      $0.idleConnectionLimit = 2000
      $0.idleLifetime = .seconds(600)
    }
    try await transport.preconnect(to: url, requests: 1000)
    for session in [alone, beside] { try await fetch(url, session, times: 5000) }
    var ratios: [Double] = []
    for _ in 0..<9 {
      let without = try await processorTime { try await fetch(url, alone, times: 5000) }
      let with = try await processorTime { try await fetch(url, beside, times: 5000) }
      ratios.append(with / without)
    }
    return ratios.median ?? 0
  }

  /// The time of all processors, which depends less on other load on the machine.
  private static func processorTime(_ body: () async throws -> Void) async throws -> Double {
    let start = ProcessUsage.processorTime()
    try await body()
    return ProcessUsage.processorTime() - start
  }

  private static let received = Mutex(0)

  /// Receives bodies endlessly in eight tasks, and exits in the middle.
  private static func exit(_ server: RunningServer, after count: Int) async throws {
    // handlers registered first run last, after libraries have freed their data, while transfers continue
    atexit {
      usleep(20_000)
      print("ended", terminator: "")
      fflush(nil)
      _exit(0)
    }
    let (session, _) = session { $0.tls.authorities = server.certificate }
    let url = server.secure.appending(component: ServedFile.large.name)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let (body, _) = try await session.bytes(for: HTTPRequest(.get, url))
          for try await chunk in body {
            let sum = received.withLock { sum in
              sum += chunk.count
              return sum
            }
            // only once: a second call on another thread would end the process before the first one is complete
            if sum >= count, sum - chunk.count < count { Foundation.exit(0) }
          }
        }
      }
      if count == 0 { Foundation.exit(0) }
      try await group.waitForAll()
    }
  }
}
