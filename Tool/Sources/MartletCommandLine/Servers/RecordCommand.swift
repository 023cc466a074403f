import MartletEngine
import MartletInspector
@_spi(Toolkit) import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting

/// Passes requests on to a server and records them: `martlet record`.
struct RecordCommand {
  private let environment: ToolEnvironment
  private let server: LocalServer
  private let origin: URL
  private let archive: OwnFile
  private let connection: ConnectionConfiguration
  private let inspects: Bool

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) throws(UsageError) {
    guard let text = arguments.value(.origin) else {
      throw UsageError("name the server: martlet record --origin https://api.example.com --har api.har")
    }
    guard let archive = try OwnFile(.har, .archive, arguments, environment) else {
      throw UsageError("name the archive to write: --har FILE")
    }
    self.environment = environment
    origin = try Self.origin(text)
    self.archive = archive
    server = try LocalServer(arguments)
    inspects = arguments.has(.inspect)
    connection = try ConnectionFlags(arguments, environment).configuration(for: origin)
  }

  func run() async throws -> ExitCode {
    let recorder = HARRecorder(limits: .ofArchives)
    let calls = TaskCounter()
    let writer = ArchiveWriter(recorder, archive.url, environment)
    let ended = EventHandler { event, _ in
      guard case .finished = event else { return }
      Task { await writer.schedule() }
    }
    let transport = SocketTransport(connection)
    let inspector = inspects ? try Inspector.announced(by: environment, counting: transport) : nil
    defer { inspector?.close() }
    let listeners: [any EventListener] = [recorder, ended, calls] + (inspector.map { [$0] } ?? [])
    let forwarder = Forwarder(to: origin, over: transport, listeners: listeners)
    let server = try server.start(bodies: .collected(upTo: 64 << 20), environment) { await forwarder.reply(to: $0) }
    defer { server.stop() }
    try recorder.write(to: archive.url)  // a file that cannot be written is reported at once
    try environment.output.write(
      "\(server.url)/ forwards to \(origin.absoluteString), recorded in \(archive.url.path)\n")
    try await LocalServer.untilInterrupted()
    await waitForEnd(of: calls)
    let incomplete = recorder.endAttempts(with: Self.interrupted)
    try await writer.end()
    if incomplete > 0 { environment.report("martlet: recorded as far as they got: \(incomplete) unfinished") }
    return .success
  }

  private static func origin(_ text: String) throws(UsageError) -> URL {
    let url = try TargetURL.parse(text)
    guard let origin = Origin(url) else { throw UsageError("--origin names no host") }
    let isPlain = ["", "/"].contains(url.path(percentEncoded: true)) && url.query == nil && url.fragment == nil
    guard isPlain, url.user == nil, url.password == nil else {
      throw UsageError("--origin has more than a server: write --origin \(origin), and the rest in the requests")
    }
    return url
  }

  /// The archive's entry for a response that was incomplete at Ctrl-C.
  static let interrupted = HTTPError(.other, "the recording was ended before the response was complete")

  /// Returns when all calls have ended, or after a second: a response that is complete for the client may not be
  /// recorded yet. It also waits if the task is cancelled.
  private func waitForEnd(of calls: TaskCounter) async {
    let clock = environment.clock
    await Task {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { _ = await calls.counts.first { $0 == 0 } }
        group.addTask { try? await clock.sleep(for: .seconds(1)) }
        await group.next()
        group.cancelAll()
      }
    }.value
  }
}

/// Writes a growing archive: at most once a second, because the whole archive is written each time, and at the end.
private actor ArchiveWriter {
  private let recorder: HARRecorder
  private let file: URL
  private let environment: ToolEnvironment
  private var isScheduled = false
  private var isEnded = false

  init(_ recorder: HARRecorder, _ file: URL, _ environment: ToolEnvironment) {
    (self.recorder, self.file, self.environment) = (recorder, file, environment)
  }

  /// Schedules a write in a second, with everything added until then.
  func schedule() {
    guard !isScheduled, !isEnded else { return }
    isScheduled = true
    Task { [clock = environment.clock] in
      try? await clock.sleep(for: .seconds(1))
      write()
    }
  }

  private func write() {
    isScheduled = false
    guard !isEnded else { return }
    do throws(HTTPError) { try recorder.write(to: file) } catch { environment.report("martlet: \(error.message)") }
  }

  /// Writes the archive for the last time.
  func end() throws {
    isEnded = true
    try recorder.write(to: file)
  }
}
