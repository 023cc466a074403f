#if ASYNC_HTTP_CLIENT
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL

/// AsyncHTTPClient on SwiftNIO, with as many connections as the workloads have requests at once.
final class AsyncHTTPClientClient: Client {
  let name = "AsyncHTTPClient"
  let trustsOurAuthority = true
  private let client: HTTPClient

  init(authority: URL) {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(authority.path)
    configuration.tlsConfiguration = tls
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await spread(times, over: atOnce) { [client] in
      let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .minutes(5))
      guard response.status == .ok else { throw BenchError("\(url): status \(response.status)") }
      return try await response.body.collect(upTo: 1 << 30).readableBytes
    }
  }

  func download(_ url: URL) async throws -> Int64 {
    let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .minutes(5))
    var sum: Int64 = 0
    for try await chunk in response.body { sum += Int64(chunk.readableBytes) }
    return sum
  }

  func upload(_ count: Int64, to url: URL) async throws -> Int64? {
    var request = HTTPClientRequest(url: url.absoluteString)
    request.method = .PUT
    request.body = .stream(RepeatedBuffer(total: count), length: .known(count))
    let response = try await client.execute(request, timeout: .minutes(5))
    guard response.status == .ok else { throw BenchError("\(url): status \(response.status)") }
    return count
  }
}

/// The same bytes again and again, up to a total.
private struct RepeatedBuffer: AsyncSequence, AsyncIteratorProtocol, Sendable {
  private static let chunk = ByteBuffer(repeating: 0, count: 256 << 10)
  private var rest: Int64

  init(total: Int64) { rest = total }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async -> ByteBuffer? {
    guard rest > 0 else { return nil }
    let length = Int(Swift.min(rest, Int64(Self.chunk.readableBytes)))
    rest -= Int64(length)
    return Self.chunk.getSlice(at: 0, length: length)
  }
}
#endif
