@_spi(Toolkit) @_spi(Transports) public import MartletEngine
import MartletObservation
@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// A transport that records the responses of a real server to a file, and replays them offline in later test runs.
///
/// ```swift
/// let recording = try Recording(file: fixtures.appending(path: "login.har"), around: DefaultTransport())
/// let session = HTTPSession(transport: recording)
/// let (data, _) = try await session.data(for: HTTPRequest(.get, url))
/// …
/// try recording.save()
/// ```
///
/// ```
/// MARTLET_RECORD=1 swift test    # uses the server and writes the files
/// swift test                     # replays them; no network
/// ```
///
/// It records the messages on the network, below the session's cookies, cache, credentials and redirects, so these work
/// the same during replay. The session must also begin in the same state, for example with an empty cache and no
/// cookies. The dates in responses are those of the recording: for fresh responses in a cache, and for cookies with an
/// expiry date, use an `HTTPCache` and a `CookieJar` whose `now` is ``ReplayTransport/recorded``.
///
/// Secrets are redacted by `Redaction`, in fields, URLs and bodies. Requests are compared after redaction, and the
/// program under test gets `***` in place of the server's tokens. Review a new file before you share it: a secret that
/// only its value reveals is not found. Of each body, the part that was read is recorded, up to 16 MiB. Compressed
/// request bodies are omitted and not compared.
public final class Recording: Transport {
  /// Whether to record or to replay.
  public enum Mode: Sendable, Hashable {
    /// The file answers; the server is not used.
    case replay
    /// The server answers, and ``Recording/save()`` writes the file.
    case record
    /// ``record`` if the environment variable `MARTLET_RECORD` is set to anything other than an empty text, `0` or
    /// `false`; otherwise ``replay``.
    case automatic
  }

  private enum Role: Sendable {
    case recording(NetworkRecorder)
    case replaying(ReplayTransport)
  }

  private let file: URL
  private let role: Role

  /// Begins a recording, or opens the file to replay it.
  ///
  /// - Parameters:
  ///   - file: the HTTP Archive. Missing folders are created when it is saved.
  ///   - mode: whether to record or to replay; by default the environment decides.
  ///   - wire: the transport to the server; not used when replaying.
  ///   - matching: which requests count as equal.
  ///   - redaction: what is redacted. `.off` writes passwords and tokens to the file.
  /// - Throws: `HTTPError` of kind `.file` if the file cannot be replayed.
  public init(
    file: URL, mode: Mode = .automatic, around wire: any Transport, matching: ReplayMatching = .init(),
    redaction: Redaction = .standard
  ) throws(HTTPError) {
    self.file = file
    if mode.records(in: ProcessInfo.processInfo.environment) {
      var limits = HARRecorder.Limits()
      (limits.entries, limits.bodyBytes, limits.totalBytes) = (.max, 16 << 20, .max)
      role = .recording(NetworkRecorder(base: wire, recorder: HARRecorder(redaction: redaction, limits: limits)))
    } else {
      role = .replaying(try ReplayTransport(file: file, matching: matching, redaction: redaction))
    }
  }

  /// Whether it records; false if it replays.
  public var isRecording: Bool { replay == nil }

  /// The transport that replays, for ``ReplayTransport/unused`` and ``ReplayTransport/isOlder(than:)``; nil when
  /// recording.
  public var replay: ReplayTransport? {
    if case .replaying(let transport) = role { transport } else { nil }
  }

  /// Writes the recording and replaces the file. Call it at the end of a test. The file is written atomically, and only
  /// its owner can read it. It lacks calls whose response body was neither read to its end nor cancelled, and
  /// WebSockets that are still open. Does nothing during replay.
  ///
  /// - Throws: `HTTPError` of kind `.file`.
  public func save() throws(HTTPError) {
    guard case .recording(let network) = role else { return }
    var har = network.recorder.har
    // The numbers of calls would differ in every recording.
    for index in har.log.entries.indices { har.log.entries[index].comment = nil }
    try? FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try har.write(to: file)
  }

  /// Sends the request to the server when recording; answers from the file when replaying.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    switch role {
    case .recording(let network): try await network.send(request, in: call)
    case .replaying(let transport): try await transport.send(request, in: call)
    }
  }

  /// Passes it on to the transport that is recorded.
  public func releaseConnections(_ which: ConnectionRelease) async {
    if case .recording(let network) = role { await network.base.releaseConnections(which) }
  }

  @_spi(Toolkit) public static let remedy = "record again (MARTLET_RECORD=1 for a Recording)"
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

/// A transport around the network's that reports requests and responses to a recorder, below cookies and cache.
struct NetworkRecorder: Transport {
  let base: any Transport
  let recorder: HARRecorder

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    // Separate calls for the recorder, because one of the session's may have two requests in progress at the same time.
    let (own, recorder) = (Call(), recorder)
    recorder.receive(.attempt(1, request), in: own)
    recorder.receive(.sending(request.head), in: own)
    var request = request
    if let bytes = request.body.bytes {
      recorder.receive(.bytes(bytes, .sent, attempt: 1), in: own)
    } else {
      request.body = request.body.tapped { recorder.receive(.bytes($0, .sent, attempt: 1), in: own) }
    }
    call.messageTap = { recorder.receive($0, in: own) }
    do {
      var response = try await base.send(request, in: call)
      recorder.receive(.response(response.head, from: response.url), in: own)
      if response.isUpgraded {
        // The tap receives the messages and the end, unless the answer is refused.
        call.atEnd { recorder.receive(.finished(nil), in: own) }
        return response
      }
      guard response.body.length != 0 else {
        recorder.receiveEnd(after: 0, in: own)
        return response
      }
      let body = RecordedBody(response.body.source, recorder, own)
      response.body = ResponseBody(length: response.body.length, from: body)
      return response
    } catch {
      recorder.receive(.finished(HTTPError(wrapping: error)), in: own)
      throw error
    }
  }
}

/// A body that reports its bytes and its end to a recorder; the recorder uses the first end that is reported.
private final class RecordedBody: BodySource {
  private let base: any BodySource
  private let recorder: HARRecorder
  private let call: Call
  private let count = Atomic<Int64>(0)

  init(_ base: any BodySource, _ recorder: HARRecorder, _ call: Call) {
    self.base = base
    self.recorder = recorder
    self.call = call
  }

  func next() async throws -> Data? {
    do {
      guard let chunk = try await base.next() else {
        recorder.receiveEnd(after: count.load(ordering: .relaxed), in: call)
        return nil
      }
      count.add(Int64(chunk.count), ordering: .relaxed)
      recorder.receive(.bytes(chunk, .received, attempt: 1), in: call)
      return chunk
    } catch {
      recorder.receive(.finished(HTTPError(wrapping: error)), in: call)
      throw error
    }
  }

  /// If a body was cancelled before it was read, such as a redirect's, that is not a failure; if it was partly read, it
  /// is.
  func cancel() {
    base.cancel()
    let isUntouched = count.load(ordering: .relaxed) == 0
    let error = HTTPError(.cancelled, "the response's body was cancelled before its end")
    recorder.receive(.finished(isUntouched ? nil : error), in: call)
  }

  var trailers: HTTPFields { base.trailers }

  deinit { cancel() }
}

extension HARRecorder {
  /// Reports the end of a response's body. The progress marks an empty body as read.
  fileprivate func receiveEnd(after count: Int64, in call: Call) {
    receive(.progress(Event.Progress(.received, completed: count, total: nil)), in: call)
    receive(.finished(nil), in: call)
  }
}
