import COpenSSL
import MartletEngine
import MartletSemantics
import Testing

@testable import MartletSockets

/// The resumption of sessions: only with the same server, after verification, and tickets of TLS 1.3 once.
@Suite(.timeLimit(.minutes(5)))
struct ResumptionTests {
  private let trust: MemoryTrust
  private let context: TLSContext
  private let first: MemoryConnection

  init() throws {
    trust = try MemoryTrust()
    context = try trust.context()
    first = try trust.connection(context: context)
  }

  /// Opens a connection and reads the tickets that the server sends.
  @discardableResult
  private func open(_ connection: MemoryConnection) throws -> TLSSession {
    try connection.shakeHands()
    connection.server.write([1])
    #expect(try connection.readAtClient() == [1])
    return connection.client
  }

  private func another(
    host: String = "example.com", protocols: [String] = [], context: TLSContext? = nil
  ) throws -> MemoryConnection {
    try trust.connection(host: host, context: context ?? self.context, protocols: protocols, like: first.server.context)
  }

  @Test(arguments: TLSSessionTests.versions)
  func aSessionIsResumed(version: Int32) throws {
    let first = try trust.connection(context: context) { $0.versions = version...version }
    #expect(try !open(first).isResumed)

    for _ in 0..<5 {
      let next = try trust.connection(context: context, like: first.server.context)
      #expect(try open(next).isResumed)
      #expect(next.server.isResumed)
      #expect(next.client.certificates == [trust.server.data])
      #expect(next.client.trustFailure == nil)
    }
  }

  @Test func aTicketIsUsedOnce() throws {
    try open(first)
    // the server has sent two tickets
    let later = try (0..<3).map { _ in try another() }
    #expect(try later.map { try open($0).isResumed } == [true, true, false])
  }

  @Test func ticketsOfAConnectionThatEndsWithoutCloseNotifyAreUsed() throws {
    do { try open(trust.connection(context: context, like: first.server.context)) }
    #expect(try open(another()).isResumed)
    #expect(try open(another()).isResumed)
  }

  @Test func aSessionIsResumedOnlyWithTheSamePeerAndProtocols() throws {
    try open(first)
    #expect(try !open(another(host: "www.example.com")).isResumed)
    #expect(try !open(another(host: "127.0.0.1")).isResumed)
    #expect(try !open(another(protocols: ["http/1.1"])).isResumed)
    let otherPort = MemoryConnection(
      client: try TLSSession(context, peer: TLSPeer(host: "example.com", port: 8443), protocols: []),
      server: try MemoryServer(trust.server, like: first.server.context))
    #expect(try !open(otherPort).isResumed)
    #expect(try open(another(host: "EXAMPLE.com.")).isResumed)
  }

  @Test func aSessionIsResumedOnlyWithinItsContext() throws {
    try open(first)
    #expect(try !open(another(context: trust.context())).isResumed)
    #expect(try open(another()).isResumed)
  }

  @Test func aSessionIsNotResumedIfTheCallerDoesNotWantIt() throws {
    try open(first)
    let client = try TLSSession(
      context, peer: TLSPeer(host: "example.com", port: 443), protocols: [], resumes: false)
    #expect(
      try !open(MemoryConnection(client: client, server: MemoryServer(trust.server, like: first.server.context)))
        .isResumed)
  }

  @Test func aServerThatDoesNotKnowTheTicketIsVerified() throws {
    try open(first)
    let other = try MemoryAuthority().server("DNS:example.com")
    let stranger = try trust.connection(to: other, context: context)
    let error = #expect(throws: HTTPError.self) { try stranger.shakeHands() }
    #expect(error?.kind == .untrustedCertificate)

    let known = try trust.connection(context: context)
    #expect(try !open(known).isResumed)
  }

  @Test func aSessionWithoutAPinnedKeyIsNotUsed() throws {
    try open(first)
    let key = ResumableSessions.Key(peer: try TLSPeer(host: "example.com", port: 443), protocols: [])
    #expect(context.resumable.take(for: key, pins: ServerVerification(pins: ["AAAA"])) == nil)
  }

  /// The verification of a server that refuses a ticket is left for the next call.
  @Test(arguments: [true, false])
  func theFirstRecordSaysWhetherTheSessionIsResumed(isResumed: Bool) throws {
    try open(first)
    let next = isResumed ? try another() : try trust.connection(context: context)
    #expect(next.client.mayBeResumed)
    #expect(try !next.client.handshake())
    next.server.receive(next.client.takeOutgoing())
    next.server.handshake()
    next.client.receive(next.server.takeOutgoing())
    #expect(next.client.mayBeResumed)
    #expect(try next.client.handshake() == isResumed)
    #expect(next.client.mayBeResumed == isResumed)
    #expect((next.client.received.count > 0) == !isResumed)
    #expect(try next.client.handshake())
    #expect(next.client.isResumed == isResumed)
  }

  @Test func aSessionWithoutATicketIsNotResumed() throws { #expect(!first.client.mayBeResumed) }

  @Test func threadsShareAContext() async throws {
    let (trust, context, server) = (trust, context, first.server.context)
    let resumed = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var resumed = 0
          for _ in 0..<25 {
            let connection = MemoryConnection(
              client: try TLSSession(context, peer: TLSPeer(host: "example.com", port: 443), protocols: []),
              server: try MemoryServer(trust.server, like: server))
            try connection.shakeHands()
            connection.server.write([1])
            #expect(try connection.readAtClient() == [1])
            if connection.client.isResumed { resumed += 1 }
          }
          return resumed
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(resumed > 100)
  }

  @Test func aServerThatWasUsedLastKeepsItsSessions() throws {
    try open(first)
    let known = ResumableSessions.Key(peer: try TLSPeer(host: "example.com", port: 443), protocols: [])
    let ticket = try #require(context.resumable.take(for: known, pins: context.verification))
    let sessions = ResumableSessions()
    func numbered(_ port: Int) throws -> ResumableSessions.Key {
      .init(peer: try TLSPeer(host: "example.com", port: port), protocols: [])
    }
    for port in 1...256 { for _ in 0..<2 { sessions.store(ticket, for: try numbered(port)) } }
    #expect(sessions.take(for: try numbered(1), pins: context.verification) != nil)

    sessions.store(ticket, for: try numbered(257))

    #expect(sessions.take(for: try numbered(1), pins: context.verification) != nil)
    #expect(sessions.take(for: try numbered(2), pins: context.verification) == nil)
  }

  @Test func sessionsOfAtMost256ServersAreKept() throws {
    let key = ResumableSessions.Key(peer: try TLSPeer(host: "example.com", port: 443), protocols: [])
    try open(first)
    let ticket = try #require(context.resumable.take(for: key, pins: context.verification))
    let sessions = ResumableSessions()
    func numbered(_ port: Int) throws -> ResumableSessions.Key {
      .init(peer: try TLSPeer(host: "example.com", port: port), protocols: [])
    }
    for port in 1...300 { for _ in 0..<6 { sessions.store(ticket, for: try numbered(port)) } }

    func count(_ port: Int) throws -> Int {
      var count = 0
      while sessions.take(for: try numbered(port), pins: context.verification) != nil { count += 1 }
      return count
    }
    #expect(try count(1) == 0)
    #expect(try count(44) == 0)
    #expect(try count(45) == 4)
    #expect(try count(300) == 4)
  }
}
