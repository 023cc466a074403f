@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting

/// A call that is ready to be made: the request, its session, and what to write when it has ended.
struct PreparedCall: Sendable {
  let request: HTTPRequest
  let session: HTTPSession
  /// Takes the place of the network; nil if there is one.
  let unsent: UnsentRequest?
  private let records: CallRecords
  private let kept: KeptState

  /// Hides secrets unless the user asks for them.
  var redaction: Redaction { records.redaction }

  /// The head of the request as it was sent, for display.
  func sentHead(in text: MessageText) -> String { records.sent?.head(in: text) ?? text.request(request.head) }

  /// The heads of the attempts before the last one, for display.
  func earlierHeads(in text: MessageText) -> [(request: String, response: String?)] {
    records.sent?.earlierHeads(in: text) ?? []
  }

  /// What was measured of the call.
  var measurements: FirstCallMeter.Measurements { records.meter?.measurements ?? FirstCallMeter.Measurements() }

  /// - Parameter listeners: receive the events, in addition to those of the options.
  init(
    _ arguments: ParsedArguments, _ choice: OutputChoice, _ environment: ToolEnvironment,
    listeners: [any EventListener] = []
  ) async throws {
    var request = try RequestComposition(arguments, files: environment.inputFiles).request()
    request.body = try await request.body.coded(as: arguments)
    let strict = StrictHosts(arguments, environment)
    if let strict { request.url = try await strict.upgraded(request.url, environment) }
    kept = try await KeptState(arguments, environment, for: &request)
    records = try CallRecords(arguments, choice, environment)

    var configuration = SessionConfiguration(cookies: kept.jar, cache: nil)
    configuration.strictTransport = strict?.security
    configuration.userAgent = request.fields[.userAgent]  // nil if the command line omits it
    configuration.listeners = listeners + records.listeners
    if let credentials = kept.credentials {
      configuration.credentials.append(credentials.source(for: .origin(of: request.url)))
    }
    try CallOptions(arguments, environment).apply(to: &configuration, for: request.url)
    self.request = request
    unsent = arguments.has(.offline) ? UnsentRequest() : nil
    let transport =
      try unsent.map { DecodingTransport($0) } ?? Self.transport(arguments, environment, strict, for: request.url)
    session = HTTPSession(transport: transport, configuration: configuration)
  }

  private static func transport(
    _ arguments: ParsedArguments, _ environment: ToolEnvironment, _ strict: StrictHosts?, for url: URL
  ) throws -> any Transport {
    if let path = arguments.value(.replay) { return try ReplayTransport(file: environment.file(path)) }
    explainVerification(arguments, environment)
    warnOfKeyLog(environment)
    var connection = try ConnectionFlags(arguments, environment).configuration(for: url)
    if let strict, let accepts = connection.tls.acceptsRefusedServer {
      // RFC 6797 §8.4: nobody can accept a certificate of such a host.
      connection.tls.acceptsRefusedServer = { trust, call in
        guard try await !strict.security.requiresHTTPS(trust.host) else { return false }
        return try await accepts(trust, call)
      }
    }
    return SocketTransport(
      connection,
      options: try AddressFlags(arguments, environment).options())
  }

  /// Says, even with `--quiet`, that others can decrypt what is sent.
  private static func warnOfKeyLog(_ environment: ToolEnvironment) {
    guard let file = environment.keyLog else { return }
    environment.report(
      "martlet: warning: SSLKEYLOGFILE is set: whoever can read '\(file.path)' can decrypt this run's TLS connections")
  }

  /// Says what HTTPie's `--verify` means here, because a file does not replace the system's authorities.
  private static func explainVerification(_ arguments: ParsedArguments, _ environment: ToolEnvironment) {
    guard !arguments.has(.quiet), let value = arguments.value(.verify) else { return }
    if arguments.has(.insecure) {
      environment.report("martlet: --verify=\(value) is --insecure: any certificate is accepted")
    } else if arguments.has(.ca) {
      environment.report("martlet: --verify=\(value) is --ca: these authorities are trusted besides the system's")
    }
  }

  /// The options for how a request is sent that its curl command does not express.
  private static let missingInCurl: [OptionName] = [
    .netrc, .netrcFile, .csrf, .sign, .verifySignature, .digest, .correlation, .language, .cache, .onlyCached, .replay,
    .timeout, .retry, .proxy, .ca,
    .cert, .key, .certPassword, .pin, .ssl, .http1, .http2, .resolve, .unixSocket, .interface,
  ]

  /// The curl command for the request, with the credentials and cookies that are sent without a challenge. A remark
  /// before it names the options of the command line that it does not express.
  func curlCommand(for arguments: ParsedArguments) async throws -> String {
    var request = request
    let options = session.resolving(request).options
    request.options.keepsDotSegments = options.keepsDotSegments
    request.options.redirectPolicy = options.redirectPolicy
    request.options.deadline = options.deadline
    request.options.maximumRate = options.maximumRate
    request.options.minimumRate = options.minimumRate
    var missing = Self.missingInCurl.filter(arguments.has)
    if !request.fields.contains(.authorization), let credentials = kept.credentials {
      request.fields[.authorization] = credentials.authorization
      let sources: [OptionName] = [.awsSignature, .dpop, .authType, .session, .sessionReadOnly]
      if credentials.authorization == nil, let source = sources.first(where: arguments.has) { missing.append(source) }
    }
    if !request.fields.contains(.cookie) {
      request.fields[.cookie] = try await kept.jar.cookieHeader(for: request.url)
    }
    let names = missing.map { "--\($0.rawValue)" }.joined(separator: ", ")
    let remark = missing.isEmpty ? "" : "# not in the command: \(names)\n"
    let insecure = arguments.has(.insecure) ? " \\\n  --insecure" : ""
    return remark + request.curlCommand(redaction: redaction) + insecure
  }

  /// Does the work of the call. Then writes the archive, the timeline, the cookies and the session, whatever the
  /// outcome; if the work failed, its error counts, and a failure to write is reported.
  func finishing<Result>(
    reportingTo environment: ToolEnvironment, _ work: () async throws -> Result
  ) async throws -> Result {
    let result: Result
    do { result = try await work() } catch {
      do { try await finish() } catch { _ = CommandLineTool.report(Failure(error), environment) }
      throw error
    }
    try await finish()
    return result
  }

  /// Writes all of them, and then throws the first failure.
  private func finish() async throws {
    var failures: [any Error] = []
    do { try records.writeArchive() } catch { failures.append(error) }
    do { try records.writeTimeline() } catch { failures.append(error) }
    do { try await kept.writeCookies() } catch { failures.append(error) }
    do { try await kept.writeSession() } catch { failures.append(error) }
    if let first = failures.first { throw first }
  }
}

extension HARRecorder.Limits {
  /// The limits of archives: bodies of at most 16 MiB.
  static let ofArchives = {
    var limits = HARRecorder.Limits()
    limits.bodyBytes = 16 << 20
    return limits
  }()
}

/// The displayed and recorded parts of a running call.
private struct CallRecords: Sendable {
  let redaction: Redaction
  let listeners: [any EventListener]
  let sent: RequestRecorder?
  let meter: FirstCallMeter?
  private let archive: (recorder: HARRecorder, file: OwnFile)?
  private let timeline: (recorder: TimelineRecorder, file: OwnFile)?

  init(_ arguments: ParsedArguments, _ choice: OutputChoice, _ environment: ToolEnvironment) throws(UsageError) {
    let redaction = arguments.has(.showSecrets) ? Redaction.off : .standard
    let (errors, clock) = (environment.errors, environment.clock)
    self.redaction = redaction
    sent = choice.parts.contains(.requestHead) || arguments.has(.all) ? RequestRecorder() : nil
    meter = choice.parts.contains(.metadata) || arguments.has(.writeOut) ? FirstCallMeter(clock: clock) : nil
    archive = try OwnFile(.har, .archive, arguments, environment).map {
      (HARRecorder(redaction: redaction, limits: .ofArchives, clock: clock), $0)
    }
    timeline = try OwnFile(.timeline, .timeline, arguments, environment).map {
      (TimelineRecorder(redaction: redaction, clock: clock), $0)
    }
    var listeners: [any EventListener] = []
    if let sent { listeners.append(sent) }
    if let meter { listeners.append(meter) }
    if let archive { listeners.append(archive.recorder) }
    if let timeline { listeners.append(timeline.recorder) }
    if arguments.has(.verbose), !arguments.has(.offline) {
      listeners.append(Story(to: errors, palette: choice.errorPalette, redaction: redaction, clock: clock))
    }
    if arguments.has(.events) { listeners.append(EventLines(to: errors, redaction: redaction, clock: clock)) }
    self.listeners = listeners
  }

  func writeArchive() throws {
    guard let archive else { return }
    try archive.file.check()
    try archive.recorder.write(to: archive.file.url)
  }

  func writeTimeline() throws {
    guard let timeline else { return }
    try timeline.file.check()
    try TimelinePage.write(timeline.recorder.timeline, to: timeline.file.url)
  }
}
