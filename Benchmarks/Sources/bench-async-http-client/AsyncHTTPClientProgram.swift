import AsyncHTTPClient
import Foundation
import MeasuredClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// A client's process with AsyncHTTPClient: `bench-async-http-client --authority FILE --connections N --threads N`.
@main
enum AsyncHTTPClientProgram {
  static func main() throws {
    let arguments = CommandLine.arguments
    func value(_ name: String) throws -> String {
      guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else {
        throw BenchError("\(name) is missing")
      }
      return arguments[index + 1]
    }
    let client = AsyncHTTPClientClient(
      authority: try value("--authority"), connections: Int(try value("--connections")) ?? 64,
      threads: Int(try value("--threads")) ?? 1)
    try serveAssignments { client }
  }
}

/// AsyncHTTPClient on SwiftNIO.
struct AsyncHTTPClientClient: Client {
  let version: String
  private let client: HTTPClient

  init(authority: String, connections: Int, threads: Int) {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(authority)
    configuration.tlsConfiguration = tls
    client = HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: threads)),
      configuration: configuration)
    version = "AsyncHTTPClient \(ProcessInfo.processInfo.environment["ASYNC_HTTP_CLIENT_VERSION"] ?? "(a checkout)")"
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

  func upload(_ count: Int64, to url: URL) async throws {
    var request = HTTPClientRequest(url: url.absoluteString)
    request.method = .PUT
    request.body = .stream(RepeatedBuffer(total: count), length: .known(count))
    let response = try await client.execute(request, timeout: .minutes(5))
    guard response.status == .ok else { throw BenchError("\(url): status \(response.status)") }
    _ = try await response.body.collect(upTo: 1 << 20)
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
