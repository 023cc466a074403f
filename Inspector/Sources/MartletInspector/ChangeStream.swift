import Dispatch
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletServer
import Synchronization

/// Sends changes to one page, as server-sent events.
///
/// The stream remembers the last revision that the page has, and looks a few times a second for calls above it: a call
/// that changed a thousand times in between is sent once. So a page that does not read occupies only its thread in this
/// process, until the send times out.
final class ChangeStream: Sendable {
  private let log: CallLog
  private let isLive: Bool
  private let position = Mutex(Position())

  /// The state that the page already has.
  private struct Position: Sendable {
    /// The last revision; nil before the beginning.
    var revision: UInt64?
    var removals = 0
    /// When the stream looked last, when it last wrote, and when the numbers of connections were last read.
    var (looked, wrote, refreshed) = (ContinuousClock.now, ContinuousClock.now, ContinuousClock.Instant?.none)
    /// The last second that was counted, how many calls had ended then, and the numbers of connections.
    var second = 0
    var ended = 0
    var pool: PoolReading.Numbers?
    /// Why calls are not kept, as the page knows it.
    var problem: String?
  }

  /// The time between two checks for changes.
  private static let interval = Duration.milliseconds(100)
  /// The time without changes after which a comment is sent, to find out whether the page is still there.
  private static let silence = Duration.seconds(5)
  /// The time after which the numbers of connections are read again.
  private static let refreshInterval = Duration.seconds(1)
  /// The maximum number of calls in one piece.
  private static let batch = 500

  static func reply(_ log: CallLog, isLive: Bool) -> Reply {
    let stream = ChangeStream(log, isLive: isLive)
    return .generated(type: "text/event-stream") { _ in stream.next() }
  }

  private init(_ log: CallLog, isLive: Bool) { (self.log, self.isLive) = (log, isLive) }

  /// Blocks until there is something to send, and returns it; nil when the inspector is closed.
  private func next() -> Data? {
    var position = self.position.withLock { $0 }
    defer { self.position.withLock { $0 = position } }
    guard let last = position.revision else {
      position.revision = 0
      return event(
        "hello",
        Hello(
          isLive: isLive, began: log.began.timeIntervalSince1970, now: now, bodyLimit: log.bodyLimit))
    }
    let pause = DispatchSemaphore(value: 0)
    while !log.isClosed {
      let rest = Self.interval - position.looked.duration(to: .now)
      if rest > .zero { _ = pause.wait(timeout: .now() + rest.inMilliseconds / 1000) }
      position.looked = .now
      var output = changes(since: last, &position)
      if output.isEmpty, position.wrote.duration(to: .now) >= Self.silence { output = Data(": still here\n\n".utf8) }
      guard output.isEmpty else {
        position.wrote = .now
        return output
      }
    }
    return nil
  }

  private var now: Double { log.elapsed.inMilliseconds }

  private func changes(since last: UInt64, _ position: inout Position) -> Data {
    if position.refreshed.map({ $0.duration(to: .now) >= Self.refreshInterval }) ?? true {
      position.refreshed = .now
      log.pools?.refresh()
    }
    var output = counters(&position)
    let newest = log.revision
    let state = log.state
    guard newest > last || state.removals != position.removals else { return output }
    if state.removals != position.removals {
      position.removals = state.removals
      output += event("kept", state.calls.map(\.id))
    }
    let changed = state.calls.map { (call: $0, revision: $0.revision) }.filter { $0.revision > last }
      .sorted { $0.revision < $1.revision }
    let told = changed.prefix(Self.batch)
    let summaries = told.map { changed in
      let content = changed.call.snapshot
      return CallRow(changed.call, content, content.attempts(of: changed.call, log), log)
    }
    if !summaries.isEmpty { output += event("calls", Batch(now: now, total: state.total, calls: summaries)) }
    // Calls that have changed since are sent at the next check.
    position.revision = changed.count > told.count ? told.last?.revision : newest
    return output
  }

  /// Returns the counters of the calls that have ended since the last check.
  private func counters(_ position: inout Position) -> Data {
    let (count, seconds) = log.counters(since: position.second)
    let pool = log.pools?.numbers
    let problem = log.problem
    guard isLive, count != position.ended || pool != position.pool || problem != position.problem else {
      return Data()
    }
    (position.ended, position.pool, position.second) = (count, pool, seconds.last?.number ?? position.second)
    position.problem = problem
    return event("counters", Counters(now: now, seconds: seconds, pool: pool, problem: problem?.printable))
  }

  private struct Counters: Encodable {
    let now: Double
    let seconds: [CallCounters.Second]
    let pool: PoolReading.Numbers?
    /// Why calls are not kept in the file.
    let problem: String?
  }

  private struct Hello: Encodable {
    let isLive: Bool
    let began: Double
    let now: Double
    let bodyLimit: Int
  }

  private struct Batch: Encodable {
    let now: Double
    let total: Int
    let calls: [CallRow]
  }

  private func event(_ name: String, _ value: some Encodable) -> Data {
    guard let json = try? JSONEncoder().encode(value) else { return Data() }
    return Data("event: \(name)\ndata: ".utf8) + json + Data("\n\n".utf8)
  }
}
