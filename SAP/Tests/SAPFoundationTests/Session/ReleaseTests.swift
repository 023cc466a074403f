import Foundation
import MartletTesting
import MartletWebSocket
import SAPFioriFlows
import SAPFoundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Tasks, their sessions, observers and delegates are released when a task has ended, however it ended.
@Suite("The release of tasks and sessions", .timeLimit(.minutes(5)))
struct ReleaseTests {
  enum Kind: CaseIterable {
    case data, uploadedData, uploadedFile, uploadedStream, download, webSocket, bytes, publisher
  }

  enum End: String, CaseIterable { case use, cancel, failure, invalidation }

  private struct WeakReference {
    let name: String
    weak var object: AnyObject?
  }

  /// Something that runs, and how it is cancelled.
  private struct Running {
    let object: AnyObject
    let cancel: () -> Void
  }

  private let folder: TemporaryFolder
  private let server: LoopbackServer
  /// Holds the answers to tasks that are cancelled.
  private let gate = Gate()

  init() throws {
    folder = try TemporaryFolder()
    try Data("body".utf8).write(to: folder.file("body"))
    server = try LoopbackServer { [gate] request in
      switch request.path {
      case "/use/socket": .webSocket { try $0.close(.normalClosure) }
      case "/failure/socket": .webSocket { try $0.close(.internalServerError) }
      case "/cancel/socket", "/invalidation/socket": .webSocket { while try $0.receive() != nil {} }
      case "/use": .text("used")
      case "/failure": .hangUp
      default: .text("late").held(by: gate)
      }
    }
  }

  private func start(_ kind: Kind, _ end: End, in session: SAPURLSession) -> Running {
    let url = server.url("/" + end.rawValue)
    let request = URLRequest("PUT", url)
    let ignored: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { _, _, _ in }
    let task: SAPURLSessionTask
    switch kind {
    case .data: task = session.dataTask(with: url, completionHandler: ignored)
    case .uploadedData: task = session.uploadTask(with: request, from: Data("body".utf8), completionHandler: ignored)
    case .uploadedFile:
      task = session.uploadTask(with: request, fromFile: folder.file("body"), completionHandler: ignored)
    case .uploadedStream:
      task = session.uploadTask(
        withStreamedRequest: request, needNewBodyStream: { InputStream(data: Data("body".utf8)) },
        completionHandler: ignored)
    case .download: task = session.downloadTask(with: url) { _, _, _ in }
    case .webSocket:
      let socket = session.webSocketTask(with: server.url("/\(end.rawValue)/socket"))
      socket.receive { _ in }
      task = socket
    case .bytes:
      let work = Task {
        let (bytes, _) = try await session.bytes(from: url)
        for try await _ in bytes {}
      }
      return Running(object: session) { work.cancel() }
    case .publisher:
      let publisher = session.dataTaskPublisher(for: url)
      let subscription = publisher.sink(receiveCompletion: { _ in }, receiveValue: { _ in })
      return Running(object: publisher) { subscription.cancel() }
    }
    task.resume()
    return Running(object: task) { task.cancel() }
  }

  @Test(arguments: Kind.allCases, End.allCases)
  func itEndsWithTheTask(_ kind: Kind, _ end: End) async throws {
    var references: [WeakReference] = []
    do {
      let (observer, delegate) = (ObserverProbe(), DelegateProbe())
      let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
      session.register(observer)
      let running = start(kind, end, in: session)
      references = [
        WeakReference(name: "session", object: session), WeakReference(name: "observer", object: observer),
        WeakReference(name: "delegate", object: delegate), WeakReference(name: "task", object: running.object),
      ]
      _ = try await server.request(1)
      if kind == .webSocket { await observer.wait(for: "response 101") }
      if end == .cancel { running.cancel() }
      if end == .invalidation { session.invalidateAndCancel() }
      await observer.wait(for: end == .use ? "complete" : "failed")
    }

    try await until { references.allSatisfy { $0.object == nil } }
    gate.open()
  }

  /// A task that never began is held by nothing.
  @Test(arguments: [true, false]) func aTaskThatNeverBeganIsReleased(isSocket: Bool) async throws {
    var references: [WeakReference] = []
    do {
      let session = SAPURLSession(configuration: SAPURLSession.plain)
      let task: SAPURLSessionTask =
        isSocket ? session.webSocketTask(with: server.url("/")) : session.dataTask(with: server.url("/")) { _, _, _ in }
      references = [WeakReference(name: "session", object: session), WeakReference(name: "task", object: task)]
    }
    try await until { references.allSatisfy { $0.object == nil } }
  }

  /// What an app makes with a session and uses once.
  @Test func servicesAreReleasedAfterTheirUse() async throws {
    var references: [WeakReference] = []
    do {
      let session = SAPURLSession(configuration: SAPURLSession.plain)
      let settings = SAPcpmsSettingsParameters(backendURL: server.url("/use"), applicationID: "app", deviceID: "device")
      let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, destinationURL: server.url("/use"))
      let service = SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: server.url("/use"))
      let roles = SAPcpmsUserRoles(sapURLSession: session, roleServiceUrl: server.url("/use"))
      let manager = SessionOpener<OnboardingSession> {
        $0(OnboardingSession(sapURLSession: session, settingsParameters: settings), nil)
      }
      references = [
        WeakReference(name: "session", object: session), WeakReference(name: "client", object: client),
        WeakReference(name: "settings", object: service), WeakReference(name: "roles", object: roles),
        WeakReference(name: "manager", object: manager),
      ]
      try await client.registerDeviceToken(Data([1]))
      await #expect(throws: SAPcpmsSettingsError.self) { _ = try await service.load(for: .application) }
      await #expect(throws: SAPcpmsUserRolesError.self) { try await roles.load() }
      await withCheckedContinuation { continuation in manager.open { _ in continuation.resume() } }
      manager.reset()
    }
    try await until { references.allSatisfy { $0.object == nil } }
  }
}
