import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Requests that a server answers with 421, because their connection is not the right one for their origin (RFC 9110
/// §15.5.20).
@Suite(.timeLimit(.minutes(5)))
struct MisdirectedRequestTests {
  /// A server whose connections are wrong as long as a condition holds.
  private final class Bed: Sendable {
    let server: LoopbackServer
    let session: HTTPSession
    let notes = Mutex<[String]>([])

    init(
      secured: Bool, policy: RetryPolicy = RetryPolicy(), attemptLimit: Int = 21,
      isWrong: @escaping @Sendable (LoopbackRequest) -> Bool
    ) throws {
      let respond: LoopbackServer.Responder = { request in
        isWrong(request)
          ? .status(.misdirectedRequest, fields: ["X-Connection": "\(request.connection)"]) : .text(request.text)
      }
      server = secured ? try LoopbackServer(tls: .selfSigned, respond: respond) : try LoopbackServer(respond: respond)
      var connection = ConnectionConfiguration()
      connection.tls.authorities = server.authority?.file
      var configuration = SessionConfiguration()
      configuration.options.retryPolicy = policy
      configuration.attemptLimit = attemptLimit
      session = HTTPSession(transport: SocketTransport(connection), configuration: configuration)
    }

    func send(_ request: HTTPRequest) async throws -> (String, HTTPResponse) {
      var request = request
      request.options.listeners = [
        EventHandler { event, _ in if case .note(let note) = event { self.notes.withLock { $0.append(note) } } }
      ]
      let (data, response) = try await session.data(for: request)
      return (String(decoding: data, as: UTF8.self), response)
    }

    func post(_ text: String) async throws -> (String, HTTPResponse) {
      try await send(HTTPRequest(.post, server.url, body: .data(Data(text.utf8))))
    }

    var connections: [Int] { server.requests.map(\.connection) }
  }

  @Test(arguments: [false, true])
  func aRequestIsSentOnceMoreOverANewConnectionWhateverItsMethod(secured: Bool) async throws {
    let bed = try Bed(secured: secured) { $0.connection == 1 && $0.text == "second" }
    _ = try await bed.post("first")

    let (text, response) = try await bed.post("second")
    _ = try await bed.post("third")

    #expect(text == "second")
    #expect(response.history.map { $0.response?.status } == [.misdirectedRequest])
    #expect(response.history.first?.reason.hasPrefix("421: the connection does not serve this origin") == true)
    #expect(bed.server.requests.map(\.text) == ["first", "second", "second", "third"])
    #expect(bed.connections == [1, 1, 2, 2])
  }

  @Test(arguments: [false, true])
  func aSecond421IsTheResponseAndLaterRequestsAreNotRepeated(secured: Bool) async throws {
    let bed = try Bed(secured: secured) { _ in true }
    let (_, first) = try await bed.post("first")
    let (_, second) = try await bed.post("second")
    #expect(first.status == .misdirectedRequest)
    #expect(first.fields["X-Connection"] == "2")
    #expect(first.history.count == 1)
    #expect(second.status == .misdirectedRequest)
    #expect(second.history.isEmpty)
    #expect(bed.connections == [1, 2, 2])
  }

  @Test func aBodyThatCannotBeReplayedIsNotSentAgain() async throws {
    let bed = try Bed(secured: false) { _ in true }
    let body = RequestBody.singleUse(
      AsyncStream { continuation in
        continuation.yield(Data("once".utf8))
        continuation.finish()
      })
    let (_, response) = try await bed.send(HTTPRequest(.post, bed.server.url, body: body))
    #expect(response.status == .misdirectedRequest)
    #expect(bed.server.requests.map(\.text) == ["once"])
    #expect(bed.notes.withLock { $0.count { $0.contains("the body cannot be sent twice") } } == 1)
  }

  @Test func aPolicyAndTheLimitOfAttemptsPreventIt() async throws {
    let never = try Bed(secured: false, policy: .never) { _ in true }
    #expect(try await never.post("a").1.status == .misdirectedRequest)
    #expect(never.connections == [1])
    let limited = try Bed(secured: false, attemptLimit: 1) { _ in true }
    #expect(try await limited.post("a").1.status == .misdirectedRequest)
    #expect(limited.connections == [1])
    #expect(limited.notes.withLock { $0.count { $0.contains("attemptLimit") } } == 1)
  }

  /// A server that gets another host than the one of the connection would answer the same over a new one.
  @Test func aRequestForAnotherHostThanThatOfItsURLIsNotSentAgain() async throws {
    let bed = try Bed(secured: false) { _ in true }
    var request = HTTPRequest(.get, bed.server.url)
    request.fields[.host] = "other.example"
    #expect(try await bed.send(request).1.status == .misdirectedRequest)
    request.fields[.host] = "127.0.0.1:\(bed.server.port)"
    #expect(try await bed.send(request).1.history.count == 1)
    #expect(bed.server.requests.count == 3)
  }

  @Test func aRequestThatAProxyForwardsIsNotSentAgain() async throws {
    let proxy = try LoopbackServer { _ in .status(.misdirectedRequest) }
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: proxy.port)
    let session = HTTPSession(transport: SocketTransport(connection))
    let response = try await session.data(for: HTTPRequest(.get, url("http://a.example/"))).1
    #expect(response.status == .misdirectedRequest)
    #expect(proxy.requests.count == 1)
  }

  @Test func aTransportThatCannotChooseTheConnectionSendsNothingTwice() async throws {
    let transport = ScriptedTransport(.status(.misdirectedRequest), .text("never"))
    let session = HTTPSession(transport: transport)
    #expect(try await session.data(for: HTTPRequest(.get, url("http://a.example/"))).1.status == .misdirectedRequest)
    #expect(transport.remaining == 1)
  }

  @Test func aPolicyThatRetries421StillTakesANewConnection() async throws {
    var policy = RetryPolicy(limit: 1)
    policy.statuses.insert(.misdirectedRequest)
    let bed = try Bed(secured: false, policy: policy) { $0.connection == 1 }
    #expect(try await bed.send(HTTPRequest(.get, bed.server.url)).1.history.count == 1)
    #expect(bed.connections == [1, 2])
  }

  @Test func requestsThatAreMisdirectedTogetherAllSucceed() async throws {
    let bed = try Bed(secured: true) { $0.connection == 1 && $0.text != "first" }
    _ = try await bed.post("first")
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 1...20 { group.addTask { try await bed.post("order \(number)").0 } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(texts == Set((1...20).map { "order \($0)" }))
    #expect(bed.server.requests.count { $0.connection > 1 } == 20)
  }
}
