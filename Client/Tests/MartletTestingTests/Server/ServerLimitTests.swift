@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletServer

@Suite("Limits of a server", .timeLimit(.minutes(5)))
struct ServerLimitTests {
  private func server(
    _ bodies: LoopbackServer.BodyReading = .collected(upTo: 100), limits change: (inout LoopbackServer.Limits) -> Void,
    respond: @escaping LoopbackServer.Responder = { .text($0.text) }
  ) throws -> LoopbackServer {
    var limits = LoopbackServer.Limits()
    change(&limits)
    return try LoopbackServer(port: 0, bodies: bodies, limits: limits, recording: .everything, respond: respond)
  }

  @Test(arguments: ["GET / HT", "GET / HTTP/1.1\r\nHost: h\r\n"])
  func halfAHeadIsAnsweredWhenItsTimeIsOver(head: String) async throws {
    let server = try server { $0.headTime = .milliseconds(50) }
    let client = try RawClient(port: server.port)
    try client.send(head)
    #expect(try client.rest().hasPrefix("HTTP/1.1 408 "))
    client.close()
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  @Test func aConnectionWithoutARequestIsClosedWhenItsTimeIsOver() throws {
    let server = try server { $0.headTime = .milliseconds(50) }
    #expect(try RawClient(port: server.port).rest().isEmpty)
  }

  @Test(arguments: [LoopbackServer.BodyReading.collected(upTo: 100), .streamed])
  func halfABodyIsAnsweredWhenItsTimeIsOver(bodies: LoopbackServer.BodyReading) throws {
    let server = try server(
      bodies, limits: { $0.bodyTime = .milliseconds(50) },
      respond: { request in
        .text("\(try request.drainBody())")
      })
    let client = try RawClient(port: server.port)
    try client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345")
    #expect(try client.rest().hasPrefix("HTTP/1.1 408 "))
  }

  @Test func aRequestWithinItsTimeIsAnswered() throws {
    let server = try server {
      $0.headTime = .seconds(60)
      $0.bodyTime = .seconds(60)
      $0.sendTime = .seconds(60)
      $0.connections = 1
      $0.heldBytes = 5
    }
    let client = try RawClient(port: server.port)
    for _ in 1...2 {
      try client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345")
      #expect(try client.response().body == "12345")
    }
  }

  @Test func aConnectionTooManyIsRefused() async throws {
    let gate = Gate()
    let server = try server(
      limits: { $0.connections = 1 },
      respond: { request in
        try request.wait(for: gate)
        return .text("hi")
      })
    let first = try RawClient(port: server.port)
    try first.get("/")
    _ = try await server.request(1)
    #expect(try RawClient(port: server.port).rest().hasPrefix("HTTP/1.1 503 "))
    gate.open()
    #expect(try first.response().body == "hi")
    first.close()
    try await server.end(ofConnection: 1)
    let third = try RawClient(port: server.port)
    try third.get("/")
    #expect(try third.head().hasPrefix("HTTP/1.1 200 "))
  }

  @Test(arguments: ["", "GET / HT", "GET / HTTP/1.1\r\nHost: h\r\n"])
  func theConnectionThatHasWaitedLongestForAHeadGivesWay(beginning: String) async throws {
    let server = try server { ($0.connections, $0.headTime) = (2, .seconds(600)) }
    let (oldest, older) = (try RawClient(port: server.port), try RawClient(port: server.port))
    for client in [oldest, older] { try client.send(beginning) }
    let newest = try RawClient(port: server.port)
    try newest.get("/")
    #expect(try newest.head().hasPrefix("HTTP/1.1 200 "))
    #expect(try oldest.rest().isEmpty)
    try older.send(String("GET / HTTP/1.1\r\nHost: h\r\n\r\n".dropFirst(beginning.count)))
    #expect(try older.head().hasPrefix("HTTP/1.1 200 "))
  }

  @Test(
    arguments: [LoopbackServer.BodyReading.collected(upTo: 100), .streamed],
    ["Content-Length: 8\r\n\r\n1234", "Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n4"])
  func aConnectionGivesWayThatWaitsForMoreOfABody(
    _ bodies: LoopbackServer.BodyReading, half: String
  ) async throws {
    let server = try server(bodies) { ($0.connections, $0.bodyTime) = (2, .seconds(600)) }
    let halves = [try RawClient(port: server.port), try RawClient(port: server.port)]
    for client in halves { try client.send("POST / HTTP/1.1\r\nHost: h\r\n" + half) }
    // The server takes the beginnings of the bodies, and waits for more a moment later.
    try await until {
      guard let next = try? RawClient(port: server.port), (try? next.get("/")) != nil else { return false }
      return (try? next.head().hasPrefix("HTTP/1.1 200 ")) == true
    }
    withExtendedLifetime(halves) {}
  }

  @Test func anIdleConnectionGivesWay() async throws {
    let server = try server { ($0.connections, $0.headTime) = (1, .seconds(600)) }
    let idle = try RawClient(port: server.port)
    try idle.get("/")
    _ = try idle.response()
    // The server has sent the response, and waits a moment later.
    try await until {
      guard let next = try? RawClient(port: server.port), (try? next.get("/")) != nil else { return false }
      return (try? next.head().hasPrefix("HTTP/1.1 200 ")) == true
    }
    #expect(try idle.rest().isEmpty)
  }

  @Test func bodiesForWhichThereIsNoRoomAreRefused() async throws {
    let (arrived, gate) = (Gate(), Gate())
    let server = try server(
      limits: { $0.heldBytes = 10 },
      respond: { request in
        if request.path == "/held" {
          arrived.open()
          try request.wait(for: gate)
        }
        return .text(request.text)
      })
    let first = try RawClient(port: server.port)
    try first.send("POST /held HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 8\r\n\r\n12345678")
    try await arrived.wait()
    let second = try RawClient(port: server.port)
    try second.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n12345678")
    #expect(try second.head().hasPrefix("HTTP/1.1 503 "))
    gate.open()
    #expect(try first.response().body == "12345678")
    try await server.end(ofConnection: 1)
    let third = try RawClient(port: server.port)
    try third.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n12345678")
    #expect(try third.response().body == "12345678")
  }

  @Test func fieldsThatAreNotUTF8AreLatin1() throws {
    let client = try ConnectedServer { .text($0.fields["X-Name"] ?? "").with("X-Name", $0.fields["X-Name"] ?? "") }
    try client.client.send([UInt8]("GET / HTTP/1.1\r\nHost: h\r\nX-Name: caf".utf8) + [0xE9, 13, 10, 13, 10])
    #expect(try client.response().body == "café")
  }

  @Test func aServerThatRecordsNothingForgetsConnectionsThatEnded() async throws {
    let server = try LoopbackServer(recording: .nothing) { _ in .text("x").closing() }
    for _ in 1...20 {
      let client = try RawClient(port: server.port)
      try client.get("/")
      #expect(try client.rest().hasSuffix("x"))
      client.close()
    }
    try await until { server.state.value.openCount == 0 }
    #expect(server.connectionCount == 20)
    #expect(server.state.value.ends.isEmpty)
  }
}
