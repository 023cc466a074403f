@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// The order of the writes that use the tokens of one URL.
///
/// Writes usually run at the same time. Some servers end a token, or its session, with a write: then a write among
/// others may be refused however often its token is renewed. Such a write runs alone: it waits in a line, in order of
/// arrival, until the writes before it have ended, and writes that begin later wait until it has ended.
final class WriteLines: Sendable {
  /// A write's place, from before it gets its token until its response is reviewed.
  final class Place: Sendable {
    let url: URL
    /// Whether no other write may run at the same time.
    let isAlone: Bool
    /// Finishes with the write, for the writes that wait for it.
    fileprivate let work: RunningWork<Void>

    fileprivate init(at url: URL, isAlone: Bool, for call: Call) {
      self.url = url
      self.isAlone = isAlone
      work = RunningWork(by: call)
    }
  }

  /// How a write ended.
  enum End {
    case refused
    /// The server may have carried it out, and so may have ended its token.
    case maybeAccepted
  }

  private struct Line {
    /// The writes in progress: one that is alone, or any number of others.
    var running: [Place] = []
    var waiting: [Place] = []
    /// The number of writes that have ended or stopped waiting.
    var ended = 0
    /// The number of writes that were not refused.
    var accepted = 0
    /// Whether a token has ended with one write: then all writes run alone, until the line is empty.
    var tokensEnd = false

    mutating func add(_ place: Place) {
      waiting.append(place)
      advance()
    }

    /// Removes a write. Returns whether it was in progress.
    @discardableResult
    mutating func remove(_ place: Place) -> Bool {
      let count = running.count + waiting.count
      waiting.removeAll { $0 === place }
      let wasRunning = running.contains { $0 === place }
      if wasRunning { running.removeAll { $0 === place } }
      if running.count + waiting.count < count { ended += 1 }
      return wasRunning
    }

    /// Lets writes begin, in their order.
    mutating func advance() {
      while let next = waiting.first, running.isEmpty || !(next.isAlone || running[0].isAlone) {
        running.append(waiting.removeFirst())
      }
    }

    /// Returns the write that this write has to wait for next; nil if this write is already running.
    func predecessor(of place: Place) -> Place? {
      guard let index = waiting.firstIndex(where: { $0 === place }) else { return nil }
      let before = waiting[..<index]
      return (place.isAlone ? before.last : before.last(where: \.isAlone)) ?? running.first
    }
  }

  private let lines = Mutex<[URL: Line]>([:])

  /// Whether no write is in progress or waiting.
  var isEmpty: Bool { lines.withLock { $0.isEmpty } }

  /// Waits until a write may begin.
  ///
  /// - Parameter earlier: the place of the write's previous attempt; nil for the first. It ends, unless the write is
  ///   alone and remains so.
  func enter(_ url: URL, from earlier: Place?, in call: Call) async throws -> Place {
    if let earlier, earlier.isAlone, earlier.url == url { return earlier }
    if let earlier { leave(earlier, .maybeAccepted) }
    let place = lines.withLock { lines in
      let place = Place(at: url, isAlone: lines[url]?.tokensEnd ?? false, for: call)
      lines[url, default: Line()].add(place)
      return place
    }
    try await wait(at: place, in: call)
    return place
  }

  /// Waits until a write that was refused among others is alone.
  func isolate(_ earlier: Place, in call: Call) async throws -> Place {
    let place = Place(at: earlier.url, isAlone: true, for: call)
    lines.withLock { lines in
      lines[place.url, default: Line()].remove(earlier)
      lines[place.url]?.add(place)
    }
    earlier.work.finish(.success(()))
    try await wait(at: place, in: call)
    return place
  }

  /// Ends a write's place. Only the first end counts.
  func leave(_ place: Place, _ end: End) {
    lines.withLock { lines in
      guard var line = lines.removeValue(forKey: place.url) else { return }
      if line.remove(place), end == .maybeAccepted { line.accepted += 1 }
      line.advance()
      if !line.running.isEmpty { lines[place.url] = line }
    }
    place.work.finish(.success(()))
  }

  /// The number of writes that were not refused, while there have been writes in progress at a place's URL.
  func accepted(near place: Place) -> Int { lines.withLock { $0[place.url]?.accepted ?? 0 } }

  /// Records that a token has ended with one write.
  func recordThatTokensEnd(at place: Place) { lines.withLock { $0[place.url]?.tokensEnd = true } }

  /// Whether a token has ended with one write, while there have been writes in progress at a place's URL.
  func tokensEnd(at place: Place) -> Bool { lines.withLock { $0[place.url]?.tokensEnd ?? false } }

  /// Waits for the writes before a place. It does not wait for a write that waits for this one, nor longer than the
  /// response timeout for the next write to end: it then begins, beside others.
  private func wait(at place: Place, in call: Call) async throws {
    call.atEnd { [self] in leave(place, .maybeAccepted) }
    var isTold = false
    while let (predecessor, ended) = lines.withLock({ lines in
      lines[place.url].flatMap { line in line.predecessor(of: place).map { ($0, line.ended) } }
    }) {
      if !isTold { call.emit(.note("waits for other writes, because their CSRF token ends with each of them")) }
      isTold = true
      if try await predecessor.work.result(in: call.context, within: call.waitLimit()) != nil { continue }
      let isOver = lines.withLock { lines in
        guard let line = lines[place.url], line.ended == ended else { return false }
        lines[place.url]?.waiting.removeAll { $0 === place }
        lines[place.url]?.running.append(place)
        return true
      }
      guard isOver else { continue }
      call.emit(.note("sent beside other writes: one of them has not ended in time, or waits for this one"))
      return
    }
  }
}
