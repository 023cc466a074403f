import Foundation

/// One of those that are compared. Every method moves whole bodies, and returns how many bytes came.
protocol Client: Sendable {
  /// Whether it can be told to trust the server's certificate.
  var trustsOurAuthority: Bool { get }
  var name: String { get }
  /// How many of a workload's requests this client makes in a round: fewer where it would take too long.
  var share: Double { get }

  /// GETs the URL so often, so many at once, keeping each body in memory.
  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64
  /// GETs the URL once, and lets go of the bytes as they come.
  func download(_ url: URL) async throws -> Int64
  /// PUTs so many bytes that come from a stream; nil where the client cannot.
  func upload(_ count: Int64, to url: URL) async throws -> Int64?
}

extension Client {
  var share: Double { 1 }

  /// The usual way: as many tasks as requests at once, each making its part of them one after another.
  func spread(_ times: Int, over tasks: Int, _ one: @escaping @Sendable () async throws -> Int) async throws -> Int64 {
    guard tasks > 1 else { return try await Self.repeating(times, one) }
    return try await withThrowingTaskGroup(of: Int64.self) { group in
      for index in 0..<tasks {
        let part = times / tasks + (index < times % tasks ? 1 : 0)
        group.addTask { try await Self.repeating(part, one) }
      }
      return try await group.reduce(0, +)
    }
  }

  private static func repeating(_ times: Int, _ one: @Sendable () async throws -> Int) async throws -> Int64 {
    var sum: Int64 = 0
    for _ in 0..<times { sum += Int64(try await one()) }
    return sum
  }
}

/// Why a benchmark cannot go on: for people.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
