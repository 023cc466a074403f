import MartletEngine
import MartletObservation
import MartletSQLite
import MartletSemantics
import MartletSockets
import MartletTesting

/// A call that is ready to be made: the request, the session for it, and what is written when it has ended.
struct PreparedCall: Sendable {
  let request: HTTPRequest
  let session: HTTPSession
  let redaction: Redaction
  /// Sees the request as it is sent; nil if it is not shown.
  let sent: SentRequest?
  private let arguments: ParsedArguments
  private let surroundings: Surroundings
  private let recorder: HARRecorder?
  private let timeline: TimelineRecorder?
  private let jar: CookieJar
  private let stored: (file: URL, session: StoredSession)?

  /// - Parameter listeners: receive the events besides those of the options.
  init(
    _ arguments: ParsedArguments, _ choice: OutputChoice, _ surroundings: Surroundings,
    listeners: [any EventListener] = []
  ) async throws {
    self.arguments = arguments
    self.surroundings = surroundings
    var request = try RequestComposition(arguments, files: surroundings.inputFiles).request()
    guard let origin = Origin(request.url) else { throw UsageError("'\(request.url)' names no host") }
    let given = try CallCredentials(arguments, for: origin, surroundings)
    var file: URL?
    var kept = StoredSession()
    if let name = arguments.value(.session) {
      let url = try StoredSession.file(named: name, for: origin, surroundings)
      (file, kept) = (url, try StoredSession.read(url))
    }
    for field in kept.fields {
      guard let name = try? FieldName(field.name), !Self.isNamed(name, in: arguments) else { continue }
      request.fields[name] = field.value
    }
    let credentials = given ?? kept.credentials
    kept.credentials = credentials
    kept.fields = Self.keptFields(of: request, kept.fields, arguments)
    stored = file.map { [kept] in ($0, kept) }
    jar = try await Self.jar(arguments, surroundings, kept.cookies)

    redaction = arguments.has(.showSecrets) ? .off : .standard
    recorder = arguments.has(.har) ? HARRecorder(redaction: redaction, clock: surroundings.clock) : nil
    timeline =
      arguments.has(.timeline) ? TimelineRecorder(redaction: redaction, clock: surroundings.clock) : nil
    sent = choice.parts.contains(.requestHead) ? SentRequest() : nil

    var configuration = SessionConfiguration()
    configuration.userAgent = "\(Catalogue.program)/\(Catalogue.version)"
    configuration.cookies = jar
    configuration.listeners = listeners
    if let sent { configuration.listeners.append(sent) }
    if let recorder { configuration.listeners.append(recorder) }
    if let timeline { configuration.listeners.append(timeline) }
    if arguments.has(.verbose) {
      configuration.listeners.append(
        Story(
          to: surroundings.errors, palette: choice.errorPalette, redaction: redaction, clock: surroundings.clock))
    }
    if arguments.has(.events) {
      configuration.listeners.append(
        EventLines(to: surroundings.errors, redaction: redaction, clock: surroundings.clock))
    }
    if let credentials { configuration.credentials.append(credentials.source(for: .origin(of: request.url))) }
    try CallOptions(arguments, surroundings).apply(to: &configuration, for: request.url)
    self.request = request
    session = HTTPSession(transport: try Self.transport(arguments, surroundings), configuration: configuration)
  }

  private static func transport(
    _ arguments: ParsedArguments, _ surroundings: Surroundings
  ) throws -> any Transport {
    if let path = arguments.value(.replay) { return try ReplayTransport(file: surroundings.file(path)) }
    return SocketTransport(try ConnectionOptions(arguments, surroundings).configuration())
  }

  private static func jar(
    _ arguments: ParsedArguments, _ surroundings: Surroundings, _ kept: [Cookie]
  ) async throws -> CookieJar {
    let jar = CookieJar()
    for cookie in kept { try? await jar.set(cookie) }
    guard let path = arguments.value(.cookies) else { return jar }
    let file = surroundings.file(path)
    guard FileManager.default.fileExists(atPath: file.path) else { return jar }
    guard let data = try? Data(contentsOf: file) else { throw UsageError("'\(path)' cannot be read") }
    for problem in try await jar.importNetscape(String(decoding: data, as: UTF8.self)) {
      surroundings.report("martlet: '\(path)': \(problem)")
    }
    return jar
  }

  /// Writes the archive, the timeline, the cookies and the session, after the call has ended in whatever way.
  func finish() async throws {
    if let recorder, let path = arguments.value(.har) { try recorder.write(to: surroundings.file(path)) }
    if let timeline, let path = arguments.value(.timeline) {
      try TimelinePage.write(timeline.timeline, to: surroundings.file(path))
    }
    if let path = arguments.value(.cookies) { try await jar.exportNetscape(to: surroundings.file(path)) }
    if let stored {
      var session = stored.session
      session.cookies = try await jar.allCookies()
      try session.write(to: stored.file)
    }
  }
}

// The fields that a session keeps.
extension PreparedCall {
  private static func isNamed(_ name: FieldName, in arguments: ParsedArguments) -> Bool {
    arguments.words.dropFirst().contains { word in
      guard let item = try? RequestItem.parse(word) else { return false }
      return switch item {
      case .field(let other, _), .removedField(let other), .emptyField(let other):
        ASCII.equalIgnoringCase(other, name.rawName)
      default: false
      }
    }
  }

  /// The fields of the command line, except those that concern one request, and the earlier ones.
  private static func keptFields(
    of request: HTTPRequest, _ earlier: [StoredSession.Field], _ arguments: ParsedArguments
  ) -> [StoredSession.Field] {
    var kept = earlier.filter { field in
      (try? FieldName(field.name)).map { !isNamed($0, in: arguments) } ?? false
    }
    for (name, value) in request.fields where isNamed(name, in: arguments) {
      let lowercased = name.canonicalName.lowercased()
      let isOfOneRequest = lowercased.hasPrefix("content-") || lowercased.hasPrefix("if-")
      guard !isOfOneRequest, ![FieldName.range, .host, .cookie].contains(name) else { continue }
      kept.append(StoredSession.Field(name: name.rawName, value: value))
    }
    return kept
  }
}
