@_spi(Toolkit) import MartletEngine
import MartletObservation
import MartletSemantics
import Synchronization

/// Counts the calls that ended in each of the last seconds, whether or not the ring still has them.
struct CallCounters: Sendable {
  /// The numbers of calls that ended in one second.
  struct Second: Sendable, Encodable {
    /// Its number, since the log began.
    let number: Int
    var calls = 0
    var failures = 0
    var cached = 0
    var received: Int64 = 0

    /// Encodes the numbers as a list, which is short in JSON.
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      for value in [number, calls, failures, cached] { try list.encode(value) }
      try list.encode(received)
    }
  }

  /// How a call ended.
  struct EndedCall: Sendable {
    var isFailure = false
    var isCached = false
    var received: Int64 = 0
  }

  /// How many seconds are kept.
  static let limit = 300
  private var seconds: [Second] = []
  /// How many calls have ended: it shows whether something has changed.
  private(set) var count = 0

  mutating func add(_ call: EndedCall, at second: Int) {
    count += 1
    if seconds.last.map({ $0.number < second }) ?? true {
      if seconds.count == Self.limit { seconds.removeFirst() }
      seconds.append(Second(number: second))
    }
    // A thread may be late: its call counts for the second that has begun.
    let last = seconds.count - 1
    seconds[last].calls += 1
    seconds[last].failures += call.isFailure ? 1 : 0
    seconds[last].cached += call.isCached ? 1 : 0
    seconds[last].received += call.received
  }

  /// The seconds with this number or a greater one.
  func since(_ number: Int) -> [Second] { seconds.filter { $0.number >= number } }
}

/// Reads the numbers of a transport's connections while a page is open.
final class PoolReading: Sendable {
  struct Numbers: Sendable, Equatable, Encodable {
    let active: Int
    let idle: Int
    let queued: Int
  }

  private let read: @Sendable () async -> [Origin: PoolStatistics]
  private let last = Mutex<(numbers: Numbers?, isReading: Bool)>((nil, false))

  init(_ read: @escaping @Sendable () async -> [Origin: PoolStatistics]) { self.read = read }

  var numbers: Numbers? { last.withLock { $0.numbers } }

  /// Reads the numbers, unless the previous reading is still in progress.
  func refresh() {
    let mayRead = last.withLock { last in
      defer { last.isReading = true }
      return !last.isReading
    }
    guard mayRead else { return }
    Task {
      let sum = await read().values.reduce(PoolStatistics(), +)
      last.withLock { $0 = (Numbers(active: sum.active, idle: sum.idle, queued: sum.queued), false) }
    }
  }
}
