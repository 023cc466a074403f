import Foundation
import Martlet

/// Our session on one of our transports, as an application would set them up.
struct SessionClient: Client {
  let name: String
  let trustsOurAuthority = true
  private let session: HTTPSession

  init(_ transport: MeasuredTransport = .curl, authority: URL? = nil) {
    name = "Martlet, \(transport.title)"
    var connection = ConnectionConfiguration()
    connection.tls.authorities = authority
    var settings = SessionConfiguration()
    settings.cache = nil  // What is measured is the wire.
    session = HTTPSession(transport: transport.make(connection), configuration: settings)
  }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await spread(times, over: atOnce) { [session] in
      let (data, response) = try await session.data(for: HTTPRequest(.get, url))
      guard response.status == 200 else { throw BenchError("\(url): status \(response.status)") }
      return data.count
    }
  }

  func download(_ url: URL) async throws -> Int64 {
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, url))
    var sum: Int64 = 0
    for try await chunk in body { sum += Int64(chunk.count) }
    return sum
  }

  func upload(_ count: Int64, to url: URL) async throws -> Int64? {
    let body = RequestBody.stream(length: count) { RepeatedChunk(total: count) }
    let (_, response) = try await session.upload(for: HTTPRequest(.put, url), from: body)
    guard response.status == 200 else { throw BenchError("\(url): status \(response.status)") }
    return count
  }

  /// Reads a large body with pauses that are long enough for a sender to fill whatever buffers there are.
  /// Calls `pause` instead of reading on, after every so many chunks of the first part.
  func slowRead(_ url: URL, pausingEvery chunks: Int, pauses: Int, _ pause: () async throws -> Void) async throws
    -> Int64
  {
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, url))
    var sum: Int64 = 0
    var count = 0
    for try await chunk in body {
      sum += Int64(chunk.count)
      count += 1
      if count % chunks == 0, count / chunks <= pauses { try await pause() }
    }
    return sum
  }
}

/// The same bytes again and again, up to a total.
private struct RepeatedChunk: AsyncSequence, AsyncIteratorProtocol, Sendable {
  private static let chunk = Data(count: 256 << 10)
  private var rest: Int64

  init(total: Int64) { rest = total }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async -> Data? {
    guard rest > 0 else { return nil }
    let chunk = rest >= Int64(Self.chunk.count) ? Self.chunk : Self.chunk.prefix(Int(rest))
    rest -= Int64(chunk.count)
    return chunk
  }
}
