import Foundation
import Martlet
import MartletSockets
import MeasuredClient

/// The duration of requests to one server while another server floods its connection, or has a large transfer. The
/// connections of a transport share a thread.
struct NeighbourCost {
  /// The action of the other server.
  private enum Neighbour: String, CaseIterable {
    case none
    case informational, chunks, trailers
    case pings, settings, windows, emptyData, unknown, continuations
    case keyUpdates, tickets
    case download, upload
    case handshakes

    var title: String {
      switch self {
      case .none: "no other server"
      case .informational: "103 heads without end"
      case .chunks: "chunks of one byte"
      case .trailers: "trailers without end"
      case .pings: "PING frames"
      case .settings: "SETTINGS frames"
      case .windows: "WINDOW_UPDATE frames of one byte"
      case .emptyData: "DATA frames without data"
      case .unknown: "frames of an unknown type"
      case .continuations: "CONTINUATION frames"
      case .keyUpdates: "KeyUpdate records of TLS"
      case .tickets: "session tickets of TLS"
      case .download: "downloads of 256 MiB"
      case .upload: "uploads of 256 MiB"
      case .handshakes: "responses over 16 new connections with full TLS handshakes"
      }
    }

    var isHTTP2: Bool {
      switch self {
      case .pings, .settings, .windows, .emptyData, .unknown, .continuations: true
      default: false
      }
    }

    var isTLS: Bool { self == .keyUpdates || self == .tickets }
  }

  private struct Round {
    /// In milliseconds, in order.
    let latencies: [Double]
    /// The number of completed requests to the neighbour.
    let ends: Int

    func quantile(_ share: Double) -> Double {
      latencies.isEmpty ? .nan : latencies[min(latencies.count - 1, Int(share * Double(latencies.count)))]
    }
  }

  let server: RunningServer
  let seconds: Double

  /// - Parameter seconds: the duration of a round.
  static func table(
    at server: RunningServer, seconds: Double, rounds: Int, progress: (String) -> Void
  ) async throws -> ResultTable {
    var table = ResultTable(
      key: "neighbour",
      title: "**A hostile neighbour** over the same transport: requests for 1 KiB over TLS, one after another: "
        + "median (least–most)",
      columns: ["the other server sends", "p50, ms", "p99, ms", "longest, ms", "its connections a second"], digits: 2)
    let cost = NeighbourCost(server: server, seconds: seconds)
    for neighbour in Neighbour.allCases {
      progress("neighbour: \(neighbour.title)")
      var done: [Round] = []
      for _ in 0..<rounds { done.append(try await cost.measure(beside: neighbour)) }
      table.add(
        neighbour.title,
        [
          Figure(done.map { $0.quantile(0.5) }), Figure(done.map { $0.quantile(0.99) }),
          Figure(done.map { $0.quantile(1) }), Figure(done.map { Double($0.ends) / seconds }),
        ])
    }
    return table
  }

  private func measure(beside neighbour: Neighbour) async throws -> Round {
    let other = neighbour == .handshakes ? try Nginx() : nil
    defer { other?.stop() }
    var connection = ConnectionConfiguration.measured(authority: server.certificate)
    connection.tls.additionalAuthorities = other?.server.certificate
    if neighbour.isHTTP2 { connection.versions = .http2PriorKnowledge }
    var settings = SessionConfiguration()
    (settings.cache, settings.cookies) = (nil, nil)
    let session = HTTPSession(transport: SocketTransport(connection), configuration: settings)
    let transfers = try transfers(with: neighbour, at: other?.server, by: SessionClient(session))
    // The requests that are measured go over a connection that is open.
    _ = try await session.data(for: HTTPRequest(.get, server.secure.appending(path: ServedFile.small.name)))
    let meeting = Task {
      var ends = 0
      while !Task.isCancelled, let transfers {
        // most floods end with an error, as they should
        try? await transfers()
        ends += 1
      }
      return ends
    }
    defer { meeting.cancel() }
    let latencies = try await latencies(of: session)
    meeting.cancel()
    return Round(latencies: latencies.sorted(), ends: await meeting.value)
  }

  /// One transfer with the neighbour; nil if there is none.
  private func transfers(
    with neighbour: Neighbour, at other: RunningServer?, by client: SessionClient
  ) throws -> (@Sendable () async throws -> Void)? {
    let server = server
    let file = ServedFile.large
    switch neighbour {
    case .none: return nil
    case .download: return { _ = try await client.download(server.plain.appending(path: file.name)) }
    case .upload: return { try await client.upload(file.count, to: server.sink) }
    case .handshakes:
      let target = (other ?? server).closingSecureWithoutTickets.appending(path: ServedFile.small.name)
      return { _ = try await client.fetch(target, times: 16, atOnce: 16) }
    default:
      let hostile = try HostileServer(neighbour.rawValue, certificate: neighbour.isTLS ? server.certificate : nil)
      return { _ = try await client.download(hostile.url) }
    }
  }

  /// The milliseconds of requests to the measured server, one after another.
  private func latencies(of session: HTTPSession) async throws -> [Double] {
    let target = server.secure.appending(path: ServedFile.small.name)
    let end = ContinuousClock.now + .seconds(seconds)
    var latencies: [Double] = []
    while ContinuousClock.now < end {
      let start = ContinuousClock.now
      _ = try await session.data(for: HTTPRequest(.get, target))
      latencies.append((ContinuousClock.now - start) / .milliseconds(1))
    }
    return latencies
  }
}
