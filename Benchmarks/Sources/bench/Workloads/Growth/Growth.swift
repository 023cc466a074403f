import Foundation
import Martlet
import MeasuredClient
import Synchronization

/// How the time of an operation grows with the amount of stored data, waiting requests and recorded calls. An operation
/// whose time grows faster than its promise is a failure, because the ratios of one run do not depend on the machine.
///
/// Each size is measured in processes of its own.
enum Growth {
  /// The promise of an operation.
  enum Order {
    /// The time stays the same, except for misses of the processor's caches.
    case constant
    /// A tree is searched, in memory or in a file.
    case logarithmic
    /// Each element costs at most this number of nanoseconds: the operation has to look at all of them.
    case linear(nanoseconds: Double)

    var text: String {
      switch self {
      case .constant: "constant"
      case .logarithmic: "logarithmic"
      case .linear: "linear"
      }
    }

    /// Whether the times of two sizes exceed the promise. A time below half a microsecond counts as that.
    func isExceeded(from small: (size: Int, time: Double), to large: (size: Int, time: Double)) -> Bool {
      let base = max(small.time, 500)
      return switch self {
      case .constant: large.time > 6 * base
      case .logarithmic: large.time > 10 * base
      case .linear(let nanoseconds): large.time > 6 * base + nanoseconds * Double(large.size)
      }
    }
  }

  /// An operation, prepared for one size.
  struct Operation: Sendable {
    let name: String
    let order: Order
    /// How many times ``perform`` performs it.
    let times: Int
    let perform: @Sendable () async throws -> Void
  }

  static let groups: [GrowthGroup] = GrowthGroup.cookies + GrowthGroup.caches + GrowthGroup.waiting + GrowthGroup.kept

  // MARK: - In the child

  /// Measures the operations of a group at a size, and prints their nanoseconds.
  static func perform(_ key: String, size: Int) async throws {
    guard let group = groups.first(where: { $0.key == key }) else { throw BenchError("there is no group '\(key)'") }
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-growth-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var times: [String: Double] = [:]
    for operation in try await group.prepare(size, folder) {
      try await operation.perform()  // makes what is made once
      var rounds: [Double] = []
      for _ in 0..<5 {
        let start = processorTime()
        try await operation.perform()
        rounds.append((processorTime() - start) / Double(operation.times))
      }
      times[operation.name] = rounds.median
    }
    print(String(decoding: try JSONEncoder().encode(times), as: UTF8.self))
    exit(0)  // what still waits does not have to end
  }

  /// The nanoseconds that all threads of this process have used.
  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }

  // MARK: - In the parent

  /// Returns the table, and a sentence for each broken promise.
  static func table(
    rounds: Int, wants: (String) -> Bool, _ progress: (String) -> Void
  ) throws -> (table: ResultTable, violations: [String]) {
    var table = ResultTable(
      key: "growth-of-costs",
      title:
        "**Growth**: microseconds of processor time for one operation, with 1, 1,000 and 100,000 of what it counts "
        + "(10,000 calls or cookies of a site; 100, 1,000 and 3,000 in a full SQLite jar): median (least–most)",
      columns: ["operation, and what is counted", "1", "1,000", "most"], digits: 1)
    var violations: [String] = []
    for group in groups where wants(group.key) {
      let figures = try measure(group, rounds: rounds, progress)
      for name in group.operations {
        let row = figures.map { $0.times[name].map { Figure($0.map { $0 / 1000 }) } ?? nil }
        let order = try order(of: name, in: group)
        table.add("\(name), \(group.title): \(order.text)", row)
        let medians = figures.compactMap { size, times in times[name]?.median.map { (size: size, time: $0) } }
        for large in medians.dropFirst() where order.isExceeded(from: medians[0], to: large) {
          violations.append(
            "\(name), \(group.title): \(Int(large.time)) ns with \(large.size), \(Int(medians[0].time)) ns with "
              + "\(medians[0].size), which is more than \(order.text)")
        }
      }
    }
    return (table, violations)
  }

  private static func order(of name: String, in group: GrowthGroup) throws -> Order {
    guard let order = group.orders[name] else { throw BenchError("\(group.key): '\(name)' has no promise") }
    return order
  }

  private static func measure(
    _ group: GrowthGroup, rounds: Int, _ progress: (String) -> Void
  ) throws -> [(size: Int, times: [String: [Double]])] {
    var figures = group.sizes.map { (size: $0, times: [String: [Double]]()) }
    for _ in 0..<rounds {
      for index in figures.indices {
        progress("growth: \(group.key), \(figures[index].size)")
        let output = try Command.output(
          of: CommandLine.arguments[0], ["--growth", group.key, "\(figures[index].size)"])
        guard let times = try? JSONDecoder().decode([String: Double].self, from: Data(output.utf8)) else {
          throw BenchError("growth, \(group.key): \(output)")
        }
        for (name, time) in times { figures[index].times[name, default: []].append(time) }
      }
    }
    return figures
  }
}

/// Operations that are measured with the same preparation.
struct GrowthGroup: Sendable {
  /// How to select it on the command line.
  let key: String
  /// What is counted.
  let title: String
  let sizes: [Int]
  /// The promises of the operations, by name.
  let orders: [String: Growth.Order]
  /// The names in the order of the table.
  let operations: [String]
  private let make: @Sendable (Int, URL) async throws -> [(String, Int, @Sendable () async throws -> Void)]

  /// - Parameters:
  ///   - orders: the operations with their promises.
  ///   - make: prepares a size, and returns for each operation its name, how many times it is performed, and what
  ///     performs it. It may use a folder.
  init(
    _ key: String, _ title: String, sizes: [Int] = [1, 1_000, 100_000],
    _ orders: KeyValuePairs<String, Growth.Order>,
    _ make: @escaping @Sendable (Int, URL) async throws -> [(String, Int, @Sendable () async throws -> Void)]
  ) {
    (self.key, self.title, self.sizes, self.make) = (key, title, sizes, make)
    operations = orders.map(\.key)
    self.orders = Dictionary(orders.map { ($0.key, $0.value) }) { $1 }
  }

  func prepare(_ size: Int, _ folder: URL) async throws -> [Growth.Operation] {
    try await make(size, folder).map { name, times, perform in
      guard let order = orders[name] else { throw BenchError("\(key): '\(name)' has no promise") }
      return Growth.Operation(name: name, order: order, times: times, perform: perform)
    }
  }
}

/// Rising numbers for things that have to be new.
final class Numbers: Sendable {
  private let last = Atomic(0)

  func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}
