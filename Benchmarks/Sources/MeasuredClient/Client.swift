public import Foundation

/// An HTTP client that is measured. Every method transfers whole bodies.
public protocol Client: Sendable {
  /// The name and version of the program or library that does the work: "libcurl 7.88.1".
  var version: String { get }

  /// GETs the URL this many times, with this many requests at once, and keeps each body in memory until it is complete.
  /// Returns the number of received bytes.
  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64
  /// Does the same with a URL whose bodies the server compresses, and keeps the decoded bodies. Returns their size.
  func fetchDecoded(_ url: URL, times: Int, atOnce: Int) async throws -> Int64
  /// GETs the URL, and discards the bytes as they arrive. Returns their number.
  func download(_ url: URL) async throws -> Int64
  /// PUTs this number of bytes, which come from a stream.
  func upload(_ count: Int64, to url: URL) async throws
  /// PUTs a file.
  func upload(_ file: URL, to url: URL) async throws
  /// Sends a body of this number of bytes this many times.
  func send(_ count: Int64, to url: URL, times: Int, atOnce: Int) async throws
  /// Gets bodies, and returns the microseconds of each request. If the assignment has arrivals, they count from the
  /// time at which the request was due, so that a client that falls behind does not hide it.
  func latencies(_ assignment: Assignment) async throws -> [Double]
  /// Sends messages over a WebSocket, with at most `atOnce` on the way, and returns the number of received bytes.
  func echo(_ assignment: Assignment) async throws -> Int64
}

extension Client {
  /// Fetches as always: most clients decode every body.
  public func fetchDecoded(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await fetch(url, times: times, atOnce: atOnce)
  }

  /// Throws: the client has no upload from a file.
  public func upload(_ file: URL, to url: URL) async throws { throw BenchError("it uploads no files") }

  /// Throws: the client sends no small bodies.
  public func send(_ count: Int64, to url: URL, times: Int, atOnce: Int) async throws {
    throw BenchError("it sends no small bodies")
  }

  /// Throws: the client has no WebSockets.
  public func echo(_ assignment: Assignment) async throws -> Int64 { throw BenchError("it has no WebSockets") }

  /// Runs as many tasks as there are requests at once; each makes its share of them one after another.
  public func spread(
    _ times: Int, over tasks: Int, _ one: @escaping @Sendable () async throws -> Int
  ) async throws -> Int64 {
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

  /// Performs the assignment. Returns the number of received bytes.
  public func perform(_ assignment: Assignment) async throws -> Int64 {
    switch assignment.kind {
    case .fetch: return try await fetch(assignment.url, times: assignment.times, atOnce: assignment.atOnce)
    case .decode: return try await fetchDecoded(assignment.url, times: assignment.times, atOnce: assignment.atOnce)
    case .download: return try await download(assignment.url)
    case .upload:
      try await upload(assignment.length, to: assignment.url)
      return assignment.length
    case .uploadFile:
      guard let file = assignment.file else { throw BenchError("there is no file to upload") }
      try await upload(file, to: assignment.url)
      return assignment.length
    case .send:
      try await send(assignment.length, to: assignment.url, times: assignment.times, atOnce: assignment.atOnce)
      return assignment.totalLength
    case .latency: return assignment.totalLength
    case .echo, .echoCompressed: return try await echo(assignment)
    }
  }
}

/// The reason why a benchmark cannot continue, for people.
public struct BenchError: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}
