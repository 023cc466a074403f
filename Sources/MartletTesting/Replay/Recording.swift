public import MartletEngine
public import MartletSemantics

/// Tests against a real server, recorded once and replayed offline ever after.
///
/// ```swift
/// let recording = try Recording(file: fixtures.appending(path: "login.har"), around: CurlTransport())
/// let session = HTTPSession(transport: recording)
/// let (data, _) = try await session.data(for: HTTPRequest(.get, url))
/// …
/// try recording.save()
/// ```
///
/// ```
/// MARTLET_RECORD=1 swift test    # asks the server and writes the files
/// swift test                     # replays them; no network
/// ```
///
/// What is recorded is what the wire sees, below the session's cookies, cache, credentials and redirects; so these work the
/// same when it is replayed. The session must begin in the same state as well: with an empty cache and jar, say. The dates in
/// answers are those of the recording: what is to be fresh in a cache, or a cookie that ends at a date, needs an `HTTPCache`
/// and a `CookieJar` whose `now` is ``ReplayTransport/recorded``.
///
/// Secrets are scrubbed as `Redaction` says, from fields, URLs and bodies; requests are compared scrubbed, and the program
/// under test gets `***` where the server said a token. Look through a new file before it is shared: what is secret only by
/// its value is not found. Bodies are recorded up to 16 MiB each, as far as they were read; compressed request bodies are
/// left out, and not compared.
public final class Recording: Transport {
  /// Whether the server is asked.
  public enum Mode: Sendable, Hashable {
    /// It is not: the file answers.
    case replay
    /// It is, and ``Recording/save()`` writes the file anew.
    case record
    /// ``record`` where the environment variable `MARTLET_RECORD` is set, and neither empty, `0` nor `false`; else
    /// ``replay``.
    case automatic
  }

  private enum Role: Sendable {
    case records(WireRecorder)
    case replays(ReplayTransport)
  }

  private let file: URL
  private let role: Role

  /// Makes a recording, or opens one.
  ///
  /// - Parameters:
  ///   - file: the archive. Folders that are missing are made when it is saved.
  ///   - mode: whether it is recorded or replayed; by default the environment decides.
  ///   - wire: the transport that reaches the server; when replaying it is not used.
  ///   - matching: which requests are the same.
  ///   - redaction: what is scrubbed. `.off` writes passwords and tokens to the file.
  /// - Throws: `HTTPError` of kind `.file` if the file cannot be replayed.
  public init(
    file: URL, mode: Mode = .automatic, around wire: any Transport, matching: ReplayMatching = .init(),
    redaction: Redaction = .standard
  ) throws(HTTPError) {
    self.file = file
    if mode.records(in: ProcessInfo.processInfo.environment) {
      var limits = HARRecorder.Limits()
      (limits.entries, limits.bodyBytes, limits.totalBytes) = (.max, 16 << 20, .max)
      role = .records(WireRecorder(base: wire, recorder: HARRecorder(redaction: redaction, limits: limits)))
    } else {
      role = .replays(try ReplayTransport(file: file, matching: matching, redaction: redaction))
    }
  }

  /// Whether the server is asked.
  public var isRecording: Bool { replay == nil }

  /// What replays, for ``ReplayTransport/unused`` and ``ReplayTransport/isOlder(than:)``; nil while recording.
  public var replay: ReplayTransport? {
    if case .replays(let transport) = role { transport } else { nil }
  }

  /// Writes what was recorded, in place of what was there: at the end of a test. The file appears when it is complete, and
  /// only the owner may read it. Exchanges whose body nobody has read to its end or given up are not in it. Does nothing
  /// when replaying.
  ///
  /// - Throws: `HTTPError` of kind `.file`.
  public func save() throws(HTTPError) {
    guard case .records(let wire) = role else { return }
    var har = wire.recorder.har
    // The numbers of exchanges mean nothing to a reader, and would differ in every recording.
    for index in har.log.entries.indices { har.log.entries[index].comment = nil }
    try? FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try har.write(to: file)
  }

  /// Passes the request on to the server, or to the recording.
  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    switch role {
    case .records(let wire): try await wire.send(request, in: exchange)
    case .replays(let transport): try await transport.send(request, in: exchange)
    }
  }

  static let remedy = "record again, for a Recording by setting MARTLET_RECORD=1"
}

extension Recording.Mode {
  func records(in environment: [String: String]) -> Bool {
    switch self {
    case .replay: false
    case .record: true
    case .automatic: !["", "0", "false"].contains(ASCII.lowercased(environment["MARTLET_RECORD"] ?? ""))
    }
  }
}
