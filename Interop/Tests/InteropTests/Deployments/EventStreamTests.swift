import Foundation
import Martlet
import MartletTesting
import Synchronization
import Testing

/// Event streams that outlive what happens to their server: it is restarted, hangs, or refuses for a while.
@Suite("Deployments: event streams", .timeLimit(.minutes(3)))
struct EventStreamTests {
  private let keys: ChangingKeys

  init() throws { keys = try ChangingKeys() }

  /// What happens to the service.
  enum Trouble: Sendable, Hashable, CustomTestStringConvertible {
    case gone
    /// Another process accepts connections on its port, and answers nothing.
    case hangs
    case refuses(HTTPStatus)

    var testDescription: String {
      switch self {
      case .gone: "gone"
      case .hangs: "hangs"
      case .refuses(let status): "\(status.code)"
      }
    }
  }

  /// The statuses of a stream's responses, and its events.
  private final class Log: EventListener {
    private let state = Mutex(State())

    private struct State {
      var statuses: [HTTPStatus] = []
      var numbers: [Int?] = []
    }

    var statuses: [HTTPStatus] { state.withLock { $0.statuses } }
    var numbers: [Int?] { state.withLock { $0.numbers } }

    func receive(_ event: Event, in call: Call) {
      if case .response(let head, _) = event { state.withLock { $0.statuses.append(head.status) } }
    }

    func add(_ event: ServerSentEvent) { state.withLock { $0.numbers.append(Int(event.data)) } }
  }

  private func events(
    _ row: DeployedRow, of server: DeployedServer, _ log: Log, reconnectingAfter statuses: Set<HTTPStatus>
  ) throws -> ServerSentEvents {
    let url = try #require(URL(string: "https://localhost:\(server.setting.ports.https)/events"))
    let session = makeSession(trusting: keys.folder.file("ca.pem"), versions: row.versions) { $0.listeners = [log] }
    var events = session.events(for: HTTPRequest(.get, url))
    events.reconnectStatuses = statuses
    return events
  }

  /// A service and the proxy in front of it. They are the same server if clients use Hypercorn directly.
  private func servers(_ row: DeployedRow) throws -> (service: DeployedServer, front: DeployedServer) {
    let service = try DeployedServer(.hypercorn, DeployedServer.Setting(keys: keys.folder.url))
    guard row.program != .hypercorn else { return (service, service) }
    var setting = try DeployedServer.Setting(keys: keys.folder.url)
    setting.service = service.innerPort
    return (service, try DeployedServer(row.program, setting))
  }

  /// The answers of each proxy; without one, connections fail instead. The version matters only for how a stream is lost.
  private static let rows: [(DeployedRow, Trouble, HTTPStatus?)] = DeployedRow.all.flatMap { row in
    let gone: [DeployedServer.Program: HTTPStatus] = [.nginx: .badGateway, .apache: .serviceUnavailable]
    let hangs: [DeployedServer.Program: HTTPStatus] = [.nginx: .gatewayTimeout, .apache: .badGateway]
    var rows: [(Trouble, HTTPStatus?)] = [(.gone, gone[row.program])]
    if row.versions != .http1 {
      if let status = hangs[row.program] { rows.append((.hangs, status)) }
      rows += [HTTPStatus.serviceUnavailable, .tooManyRequests].map { (.refuses($0), $0) }
    }
    return rows.map { (row, $0, $1) }
  }

  @Test(arguments: rows)
  func noEventIsLostOrRepeated(row: DeployedRow, trouble: Trouble, status: HTTPStatus?) async throws {
    let (service, front) = try servers(row)
    let log = Log()
    let events = try events(row, of: front, log, reconnectingAfter: ServerSentEvents.temporaryStatuses)
    let reader = Task { for try await event in events { log.add(event) } }
    defer { reader.cancel() }
    try await until { log.numbers.count >= 3 }

    try await cause(trouble, to: service) { try await untilRefused(log, status) }
    let count = log.numbers.count
    try await until { log.numbers.count >= count + 3 }

    let numbers = log.numbers
    #expect(numbers == Array(1...numbers.count))
    #expect(log.statuses.first == .ok && log.statuses.last == .ok)
    #expect(Set(log.statuses).subtracting([.ok]).isSubset(of: ServerSentEvents.temporaryStatuses))
  }

  /// Restarts the service, and returns when it is well again.
  private func cause(
    _ trouble: Trouble, to service: DeployedServer, until isNoticed: () async throws -> Void
  ) async throws {
    if case .refuses(let status) = trouble { try service.refuseEvents(status) }
    try await service.stop()
    switch trouble {
    case .gone: try await isNoticed()
    case .hangs:
      let port = service.innerPort
      let hanging = try RealProcess("python3", ["-c", Self.hanging, "\(port)"], port: port)
      try await isNoticed()
      withExtendedLifetime(hanging) {}
    case .refuses:
      try service.start()
      try await isNoticed()
      return try service.refuseEvents(nil)
    }
    try await until { !LocalPort.answers(service.innerPort) }
    try service.start()
  }

  private func untilRefused(_ log: Log, _ status: HTTPStatus?) async throws {
    guard let status else { return }
    try await until { log.statuses.contains(status) }
  }

  private static let hanging = """
    import socket, sys, time
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
    time.sleep(3600)
    """

  @Test(arguments: DeployedRow.all.filter { $0.program != .hypercorn })
  func withoutTheOptionTheRefusalEndsTheStream(row: DeployedRow) async throws {
    let (service, front) = try servers(row)
    let log = Log()
    let events = try events(row, of: front, log, reconnectingAfter: [])
    let reader = Task { for try await event in events { log.add(event) } }
    try await until { log.numbers.count >= 3 }
    try await service.stop()

    let error = await #expect(throws: HTTPError.self) { try await reader.value }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.response?.status == (row.program == .nginx ? .badGateway : .serviceUnavailable))
  }
}
