public import MartletSemantics
import Synchronization

/// Records exchanges as an HTTP Archive, which browsers' developer tools and many others show: see `HAR`.
///
/// ```swift
/// let recorder = HARRecorder()
/// configuration.listeners = [recorder]        // or request.options.listeners, for one request
/// …
/// try recorder.write(to: URL(filePath: "session.har"))
/// ```
///
/// Every attempt is an entry: a redirect, a retry and the request after a challenge each have their own, and a comment that
/// says which exchange they belong to. An entry is there when its attempt is over. The archive shows messages as the engine
/// has them: a request with the cookies and credentials that were added, without the fields that the transport writes by
/// itself (`Host`); a response with its body unpacked, and without the fields that described it packed.
///
/// Secrets are replaced as the redaction says, in bodies too. A body is recorded as far as it was read, up to a limit: beyond,
/// it is cut off, and a comment says so. What no limit holds is left out, the oldest first.
public final class HARRecorder: EventListener {
  /// How much a recorder keeps.
  public struct Limits: Sendable, Hashable {
    /// The most entries; 1000 by default.
    public var entries = 1000
    /// The most bytes of one body; 256 KiB by default. 0 records no bodies.
    public var bodyBytes = 256 << 10
    /// The most bytes of all bodies together; 64 MiB by default.
    public var totalBytes = 64 << 20

    /// Makes the default limits.
    public init() {}
  }

  private let redaction: Redaction
  private let limits: Limits
  private let now: @Sendable () -> Date
  private let clock: any Clock<Duration>
  private let state = Mutex(State())

  private struct State: Sendable {
    /// The attempt of each exchange that is under way.
    var open: [UInt64: HARAttempt] = [:]
    var entries: [HAR.Entry] = []
    var bytes = 0
    var dropped = 0
  }

  /// Makes a recorder.
  ///
  /// - Parameters:
  ///   - redaction: what is replaced. `.off` records passwords and tokens as they are.
  ///   - limits: how much is kept.
  ///   - now: tells the time of the entries' beginnings.
  ///   - clock: measures what the transport does not.
  public init(
    redaction: Redaction = .standard, limits: Limits = .init(), now: @escaping @Sendable () -> Date = { .now },
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.redaction = redaction
    self.limits = limits
    self.now = now
    self.clock = clock
  }

  public var wantsBodies: Bool { limits.bodyBytes > 0 }

  /// What was recorded so far: the attempts that are over, by the time of their beginning.
  public var har: HAR {
    let (entries, dropped) = state.withLock { ($0.entries, $0.dropped) }
    let comment = dropped > 0 ? "\(dropped) older entries were left out: see HARRecorder.Limits" : nil
    return HAR(
      log: HAR.Log(
        creator: HAR.Creator(name: "Martlet", version: "0"),
        entries: entries.sorted { $0.startedDateTime < $1.startedDateTime }, comment: comment))
  }

  /// Forgets what was recorded.
  public func removeAll() {
    state.withLock { ($0.entries, $0.bytes, $0.dropped) = ([], 0, 0) }
  }

  /// Writes the archive to a file, which appears when it is complete, in place of what was there. Only the owner may read it.
  ///
  /// - Throws: ``HTTPError`` of kind `.file`.
  public func write(to url: URL) throws(HTTPError) { try har.write(to: url) }

  public func receive(_ event: Event, in exchange: Exchange) {
    let id = exchange.id
    switch event {
    case .started: break
    case .attempt(let number, let request):
      let attempt = HARAttempt(
        number, of: id, request, at: (now(), Stopwatch(clock)), bodyLimit: limits.bodyBytes)
      close(state.withLock { $0.open.updateValue(attempt, forKey: id) }, reason: nil, error: nil)
    case .resend(_, _, let reason): close(take(id), reason: reason, error: nil)
    case .finished(let error): close(take(id), reason: nil, error: error)
    case .bytes(_, _, let number):
      state.withLock { if $0.open[id]?.number == number { $0.open[id]?.take(event) } }
    default: state.withLock { $0.open[id]?.take(event) }
    }
  }

  private func take(_ id: UInt64) -> HARAttempt? { state.withLock { $0.open.removeValue(forKey: id) } }

  private func close(_ attempt: HARAttempt?, reason: String?, error: HTTPError?) {
    guard let attempt else { return }
    let entry = attempt.entry(reason: reason, error: error, redaction: redaction)
    state.withLock { state in
      state.entries.append(entry)
      state.bytes += entry.bodyBytes
      while state.entries.count > max(0, limits.entries) || state.bytes > max(0, limits.totalBytes) {
        state.bytes -= state.entries.removeFirst().bodyBytes
        state.dropped += 1
      }
    }
  }
}

extension HAR {
  /// Writes the archive to a file, which appears when it is complete. Only the owner may read it.
  package func write(to url: URL) throws(HTTPError) {
    do {
      let file = try PartialFile(for: url, access: .ownerOnly)
      try file.append(try json())
      try file.complete()
    } catch { throw HTTPError(wrapping: error) }
  }
}

extension HAR.Entry {
  fileprivate var bodyBytes: Int {
    (request.postData?.text?.utf8.count ?? 0) + (response.content.text?.utf8.count ?? 0)
  }
}
