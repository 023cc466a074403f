import Foundation
import Martlet
import MartletTesting
import Synchronization

extension EntryPoint {
  /// Connections that are replaced, files that change, and bodies with a rate, while other operations use the same.
  static let lifetimes: [EntryPoint] = [
    EntryPoint("connections that age") { try await string($0.aging.data(for: $1.request($0)).0) },
    EntryPoint("connections that are drained") { service, ticket in
      async let answer = service.session.data(for: ticket.request(service)).0
      if ticket.number.isMultiple(of: 2) {
        await service.session.drainConnections()
      } else {
        await service.session.closeIdleConnections()
      }
      return try await string(answer)
    },
    EntryPoint("bodies with a rate") { service, ticket in
      var request = ticket.request(service, service.isForeign ? "/uri" : "/long", method: .get)
      request.options.maximumRate = service.share
      request.options.minimumRate = MinimumRate(bytesPerSecond: 1, over: .seconds(50))
      return try await string(service.session.data(for: request).0.prefix(100))
    },
  ]

  /// What needs more than a foreign server has.
  static let longLived: [EntryPoint] = [
    EntryPoint("events of a server that refuses at first") { service, ticket in
      var events = service.hasty.events(for: ticket.request(service, "/late-events"))
      events.reconnectStatuses = ServerSentEvents.temporaryStatuses
      for try await event in events { return event.data }
      return nil
    },
    EntryPoint("lines of an old charset") { service, ticket in
      let body = try await service.session.bytes(for: ticket.request(service, "/lines")).0
      for try await line in body.lines(in: "shift_jis") where line.hasPrefix("/") { return line }
      return nil
    },
    EntryPoint("hosts that require https") { service, ticket in
      guard let host = URL(string: "https://h\(ticket.number % 64).example/") else { return nil }
      try await service.strict.receive(["Strict-Transport-Security": "max-age=\(ticket.number % 3)"], from: host)
      _ = try await service.strict.requiresHTTPS("h\(ticket.number % 64).example")
      if ticket.number.isMultiple(of: 64) { try await service.strict.removeAll() }
      return nil
    },
  ]

  /// Files of TLS that are replaced while connections are opened, if the service has them.
  static func changedFiles(of service: StormService) -> [EntryPoint] {
    guard let authorities = service.connection.tls.authorities, let content = try? Data(contentsOf: authorities) else {
      return []
    }
    let file = service.folder.file("authorities.pem")
    guard (try? content.write(to: file)) != nil else { return [] }
    var connection = service.connection
    connection.tls.authorities = file
    let session = HTTPSession(connection: connection, configuration: service.configuration)
    return [
      EntryPoint("authorities that are read again") { service, ticket in
        // one of three is half a file, which leaves the former one in use
        let part = ticket.number.isMultiple(of: 3) ? content.prefix(content.count / 2) : content
        try part.write(to: file, options: .atomic)
        if ticket.number.isMultiple(of: 4) { await session.drainConnections() }
        return try await string(session.data(for: ticket.request(service)).0)
      }
    ]
  }
}

/// A clock whose sleeps are over at once, for delays that a storm has no time for.
struct HastyClock: Clock {
  private let base = ContinuousClock()

  var now: ContinuousClock.Instant { base.now }
  var minimumResolution: Duration { base.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    await Task.yield()
  }
}
