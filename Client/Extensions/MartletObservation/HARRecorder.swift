@_spi(Toolkit) public import MartletEngine
public import MartletSemantics
import Synchronization

/// Records calls as an HTTP Archive, which browsers' developer tools and many other programs can display: see `HAR`.
///
/// ```swift
/// let recorder = HARRecorder()
/// configuration.listeners = [recorder]        // or request.options.listeners, for one request
/// …
/// try recorder.write(to: URL(filePath: "session.har"))
/// ```
///
/// Every attempt is an entry: a redirect, a retry and the request after a challenge each have their own, with a comment
/// that names the call. An entry is added when its attempt has ended. It contains the request's head in the form in
/// which it was written, if the transport reports that (``Martlet/Event/written(_:)``). Otherwise it contains the
/// engine's form, without `Host`. It also contains the response in the engine's form, with its body decoded, and
/// without the fields of the coded body.
///
/// A call that opens a WebSocket is recorded, with its messages, when the WebSocket is closed.
///
/// The redaction replaces secrets, in bodies and messages too. The part of a body that was read is recorded, up to a
/// limit; a longer body is cut off, with a comment. If there are too many entries or bytes, the oldest entries are
/// removed.
public final class HARRecorder: EventListener {
  /// The limits of a recorder.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of entries; 1000 by default.
    public var entries = 1000
    /// The maximum number of recorded bytes of a body, or of all messages of a WebSocket; 256 KiB by default. With 0,
    /// none are recorded.
    public var bodyBytes = 256 << 10
    /// The maximum number of recorded bytes of all bodies together; 64 MiB by default.
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
    /// The current attempt of each call in progress.
    var open: [UInt64: HARAttempt] = [:]
    /// The entries, the oldest first, after free places: the entries move only when half of the places are free.
    private var places: [HAR.Entry?] = []
    private var free = 0
    private(set) var bytes = 0
    private(set) var dropped = 0

    var count: Int { places.count - free }

    var entries: [HAR.Entry] { places.compactMap(\.self) }

    mutating func append(_ entry: HAR.Entry) {
      places.append(entry)
      bytes += entry.bodyBytes
    }

    mutating func dropOldest() {
      bytes -= places[free].take()?.bodyBytes ?? 0
      dropped += 1
      free += 1
      guard free > count else { return }
      places.removeFirst(free)
      free = 0
    }

    mutating func removeAll() { (places, free, bytes, dropped) = ([], 0, 0, 0) }
  }

  /// Makes a recorder.
  ///
  /// - Parameters:
  ///   - redaction: the secrets that are replaced. `.off` records passwords and tokens unchanged.
  ///   - limits: the maximum number of entries and bytes.
  ///   - now: returns the date at which an entry begins.
  ///   - clock: measures the times that the transport does not measure.
  public init(
    redaction: Redaction = .standard, limits: Limits = .init(), now: @escaping @Sendable () -> Date = { .now },
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.redaction = redaction
    self.limits = limits
    self.now = now
    self.clock = clock
  }

  public var events: Event.Kinds { limits.bodyBytes > 0 ? .all : .exceptBytes.subtracting(.message) }

  /// The archive of all attempts that have ended, in the order of their beginning.
  public var har: HAR {
    let (entries, dropped) = state.withLock { ($0.entries, $0.dropped) }
    let comment = dropped > 0 ? "\(dropped) older entries were left out: see HARRecorder.Limits" : nil
    return HAR(
      log: HAR.Log(
        creator: HAR.Creator(name: "Martlet", version: Release.version),
        entries: entries.sorted { $0.startedDateTime < $1.startedDateTime }, comment: comment))
  }

  /// Removes all entries.
  public func removeAll() {
    state.withLock { $0.removeAll() }
  }

  /// Writes the archive to a file. If the file exists, it is replaced when the new one is complete. Only its owner can
  /// read it.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public func write(to url: URL) throws(HTTPError) { try har.write(to: url) }

  /// Adds the attempts in progress, with the data that was sent and received so far, as entries that failed with an
  /// error. Their later events are not recorded.
  ///
  /// - Returns: the number of such attempts.
  @_spi(Toolkit) public func endAttempts(with error: HTTPError) -> Int {
    let attempts = state.withLock { state in
      defer { state.open = [:] }
      return state.open.values
    }
    for attempt in attempts { close(attempt, reason: error.message, error: error) }
    return attempts.count
  }

  public func receive(_ event: Event, in call: Call) {
    let id = call.id
    switch event {
    case .started: break
    case .attempt(let number, let request):
      let attempt = HARAttempt(
        number, of: id, request, at: (now(), Stopwatch(clock)), bodyLimit: limits.bodyBytes)
      close(state.withLock { $0.open.updateValue(attempt, forKey: id) }, reason: nil, error: nil)
    case .resend(_, _, let reason, _): close(take(id), reason: reason, error: nil)
    case .finished(let error): close(take(id), reason: nil, error: error)
    case .bytes(_, _, let number):
      state.withLock { if $0.open[id]?.number == number { $0.open[id]?.update(event) } }
    default: state.withLock { $0.open[id]?.update(event) }
    }
  }

  private func take(_ id: UInt64) -> HARAttempt? { state.withLock { $0.open.removeValue(forKey: id) } }

  private func close(_ attempt: HARAttempt?, reason: String?, error: HTTPError?) {
    guard let attempt else { return }
    let entry = attempt.entry(reason: reason, error: error, redaction: redaction)
    state.withLock { state in
      state.append(entry)
      while state.count > max(0, limits.entries) || state.bytes > max(0, limits.totalBytes) { state.dropOldest() }
    }
  }
}

extension HAR {
  /// Writes the archive to a file. If the file exists, it is replaced when the new one is complete. Only its owner can
  /// read it.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public func write(to url: URL) throws(HTTPError) {
    do {
      let file = try PartialFile(for: url, access: .ownerOnly, phase: nil)
      try file.append(try json())
      try file.complete()
    } catch { throw HTTPError(wrapping: error) }
  }
}

extension HAR.Entry {
  fileprivate var bodyBytes: Int {
    let messages = (webSocketMessages ?? []).reduce(0) { $0 + $1.data.utf8.count + 64 }
    return (request.postData?.text?.utf8.count ?? 0) + (response.content.text?.utf8.count ?? 0) + messages
  }
}
