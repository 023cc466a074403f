import Foundation
import Martlet
import Synchronization
import Testing

/// Many requests, and connections that servers close.
@Suite("Servers: connections", .timeLimit(.minutes(5)))
struct ConnectionContractTests {
  @Test(arguments: ContractRow.rows())
  func tenThousandSmallRequestsSucceed(row: ContractRow) async throws {
    let session = try row.session()
    let request = HTTPRequest(.get, try row.url("/hello"))
    let wrong = try await count(10_000) { _ in try await session.text(for: request).0 != "hello" }

    #expect(wrong == 0)
  }

  /// Until the server's SETTINGS arrive, a client does not know how many streams it may open. Hypercorn ends a connection
  /// with more than its 20, and the transport does not repeat a POST after that.
  @Test(arguments: ContractRow.rows())
  func fortyRequestsAtOnceOverANewConnectionSucceed(row: ContractRow) async throws {
    let get = HTTPRequest(.get, try row.url("/hello"))
    let post = HTTPRequest(.post, try row.url("/sink"), body: .data(Data("body".utf8)))
    for _ in 0..<5 {
      let session = try row.session()
      let statuses = try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
        for number in 0..<40 { group.addTask { try await session.status(number.isMultiple(of: 2) ? get : post) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(statuses == Array(repeating: .ok, count: 40))
    }
  }

  @Test(arguments: ContractRow.limited)
  func noRequestIsLostWhenAServerEndsConnections(row: ContractRow) async throws {
    let log = Ports()
    let session = try row.session { $0.listeners = [log] }
    let url = try row.url("/sink")
    let body = RequestBody.data(Data("body".utf8))
    let total = 3000  // more on each of 20 connections than the server allows
    let wrong = try await count(total) { number in
      let request = HTTPRequest(number.isMultiple(of: 2) ? .put : .post, url, body: body)
      return try await !session.text(for: request).0.hasPrefix("4 ")
    }

    #expect(wrong == 0)
    #expect(log.count >= 20)  // Envoy accepts a few more on each
  }

  @Test(arguments: ContractRow.rows())
  func noRequestIsLostWhenConnectionsAge(row: ContractRow) async throws {
    let log = Ports()
    let session = try row.session(lifetime: .milliseconds(20)) { $0.listeners = [log] }
    let url = try row.url("/sink")
    let body = RequestBody.data(Data("body".utf8))
    let wrong = try await count(1000) { number in
      let request = HTTPRequest(number.isMultiple(of: 2) ? .put : .post, url, body: body)
      return try await !session.text(for: request).0.hasPrefix("4 ")
    }

    #expect(wrong == 0)
    #expect(log.count >= 3)
  }

  /// The download goes on over its connection, while others are opened beside it.
  @Test(arguments: ContractRow.rows())
  func aDownloadOutlivesTheAgeOfItsConnection(row: ContractRow) async throws {
    let log = Ports()
    let session = try row.session(lifetime: .milliseconds(20)) { $0.listeners = [log] }
    let hello = HTTPRequest(.get, try row.url("/hello"))
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, row.url("/bytes")))
    await session.drainConnections()
    try await until {
      _ = try await session.data(for: hello)
      return log.count >= 2
    }

    var received = try row.pattern.comparison
    for try await piece in body { received.add(piece) }
    #expect(received.isWhole)
    #expect(log.count >= 3)
  }

  /// Requests around the moment at which the server closes an idle connection, each on its own connection.
  @Test(arguments: ContractRow.rows(with: .idleLimit))
  func aRequestWhileTheServerClosesAnIdleConnectionSucceeds(row: ContractRow) async throws {
    let get = HTTPRequest(.get, try row.url("/hello"))
    let post = HTTPRequest(.post, try row.url("/sink"), body: .data(Data("body".utf8)))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<30 {
        group.addTask {
          let session = try row.session()
          #expect(try await session.text(for: get).0 == "hello")
          for round in 0..<3 {
            // the race is with the server's clock: from 18 ms before its second is over to 11 ms afterwards
            try await Task.sleep(for: .milliseconds(982 + number))
            if (number + round).isMultiple(of: 3) {
              await Self.sendOnce(post, over: session)
            } else {
              #expect(try await session.text(for: get).0 == "hello")
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// A request that must not be repeated can be lost with the connection, and its error says so.
  private static func sendOnce(_ post: HTTPRequest, over session: HTTPSession) async {
    do {
      #expect(try await session.text(for: post).0.hasPrefix("4 "))
    } catch {
      #expect(error.delivery == .staleConnection, "\(error)")
    }
  }

  /// Returns how many of the requests fail, of which 20 are sent at a time.
  private func count(_ total: Int, _ isWrong: @escaping @Sendable (Int) async throws -> Bool) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for lane in 0..<20 {
        group.addTask {
          var wrong = 0
          for number in stride(from: lane, to: total, by: 20) where try await isWrong(number) { wrong += 1 }
          return wrong
        }
      }
      return try await group.reduce(0, +)
    }
  }

  /// The connections that were used, by their local ports.
  private final class Ports: EventListener {
    private let seen = Mutex<Set<Int?>>([])
    var count: Int { seen.withLock { $0.count } }

    func receive(_ event: Event, in call: Call) {
      if case .metrics(let metrics) = event { seen.withLock { _ = $0.insert(metrics.localPort) } }
    }
  }
}
