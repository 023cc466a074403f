import Foundation
import FoundationNetworking
import Martlet
import MartletTasks
import MeasuredClient
import SAPFoundation

/// `NetworkTask`s of a `StandardNetworkSession` in its default configuration: cookies and a cache in memory.
struct TasksClient: Client {
  let version = "MartletTasks"
  private let session: StandardNetworkSession

  init(authority: URL, connections: Int) {
    session = StandardNetworkSession(
      environment: { NetworkEnvironment() }, authenticator: { nil },
      transport: MeasuredTransport.sockets.make(.measured(authority: authority, connections: connections)))
  }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await spread(times, over: atOnce) { [session] in
      let task = NetworkRequest(url: url).task(expecting: Data.self, session: session, decoder: RawDecoder())
      return try await task.value().count
    }
  }

  func download(_ url: URL) async throws -> Int64 { throw BenchError("tasks collect bodies") }
  func upload(_ count: Int64, to url: URL) async throws { throw BenchError("tasks collect bodies") }

  /// Returns a body unchanged.
  private struct RawDecoder: NetworkResponseDecoder {
    func decode<Value: Decodable & Sendable>(
      _ type: Value.Type, from response: HTTPResponse, data: Data
    ) throws -> Value {
      guard let value = data as? Value else { throw BenchError("only Data is expected") }
      return value
    }
  }
}

/// `SAPURLSession` in its default configuration.
struct SAPFoundationClient: Client {
  let version = "SAPFoundation"
  private let session: SAPURLSession

  init(authority: URL, connections: Int) {
    session = SAPURLSession(
      configuration: .ephemeral, connection: .measured(authority: authority, connections: connections))
  }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await spread(times, over: atOnce) { [session] in
      let (data, response) = try await session.data(for: URLRequest(url: url))
      guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw BenchError("\(url): status is not 200") }
      return data.count
    }
  }

  func download(_ url: URL) async throws -> Int64 { throw BenchError("its bytes come one by one") }
  func upload(_ count: Int64, to url: URL) async throws { throw BenchError("it uploads bytes in memory, or files") }
}
