import Foundation
import MeasuredClient

/// A client that is part of this program.
enum OwnClient: Equatable {
  /// The C loop with epoll, and with curl_multi_poll.
  case libcurl, libcurlPoll
  /// The client of a WebSocket in C.
  case echo
  case martlet(SessionClient.Variant, MeasuredTransport)
  case urlSession
  /// The APIs above the session, in their default configuration.
  case tasks
  case sapFoundation

  /// Such as `libcurl` or `martlet-default-sockets`.
  var name: String {
    switch self {
    case .libcurl: "libcurl"
    case .libcurlPoll: "libcurl-poll"
    case .echo: "c-echo"
    case .martlet(let variant, let transport): "martlet-\(variant.rawValue)-\(transport.rawValue)"
    case .urlSession: "urlsession"
    case .tasks: "tasks"
    case .sapFoundation: "sapfoundation"
    }
  }

  static let all: [OwnClient] =
    [.libcurl, .libcurlPoll, .echo, .urlSession, .tasks, .sapFoundation]
    + SessionClient.Variant.allCases.flatMap { variant in
      MeasuredTransport.allCases.map { .martlet(variant, $0) }
    }

  init(named name: String) throws {
    guard let client = Self.all.first(where: { $0.name == name }) else {
      throw BenchError("there is no client '\(name)'; the clients are: \(Self.all.map(\.name).joined(separator: ", "))")
    }
    self = client
  }

  func make(authority: URL, connections: Int) async throws -> any Client {
    switch self {
    case .libcurl: try LoopClient(authority: authority, connections: connections, polls: false)
    case .libcurlPoll: try LoopClient(authority: authority, connections: connections, polls: true)
    case .echo: EchoLoopClient()
    case .martlet(let variant, let transport):
      try await SessionClient(variant, on: transport, authority: authority, connections: connections)
    case .urlSession: FoundationClient(connections: connections)
    case .tasks: TasksClient(authority: authority, connections: connections)
    case .sapFoundation: SAPFoundationClient(authority: authority, connections: connections)
    }
  }
}
