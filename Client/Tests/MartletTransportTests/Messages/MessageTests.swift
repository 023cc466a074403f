#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// A table of raw responses, each with the outcome that RFC 9110 and 9112 require.
///
/// The table is `messages.json`, and `server.py` sends its messages. It also has the outcomes of other clients, which
/// `scripts/observe-messages` writes. Foundation's URLSession is not tested here: on Linux some of these heads crash
/// the process, and on Apple's platforms the use of connections cannot be observed.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct MessageTests {
  /// The client under test.
  enum Client: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// The transport only.
    case transport
    /// A default session: with cookies, a cache, redirects and the replacement of stale connections.
    case session

    var testDescription: String { rawValue }
  }

  private static let server = Result { try MessageServer() }

  @Test func tableIsComplete() {
    let table = Message.table
    #expect(table.messages.count >= 120)
    #expect(Set(table.messages.map(\.name)).count == table.messages.count)
    #expect(table.clients.count == 3)
    for message in table.messages {
      #expect(message.section.contains("RFC "))
      #expect(Set(message.observed.keys) == Set(table.clients.keys), "\(message.name): run scripts/observe-messages")
    }
  }

  @Test(arguments: Message.table.messages, Client.allCases)
  func messageHasTheExpectedOutcome(_ message: Message, _ client: Client) async throws {
    try await Self.checkResponse(to: message, of: Self.server.get(), by: Asker(client, SocketTransport()))
  }

  private static func checkResponse(to message: Message, of server: MessageServer, by asker: Asker) async throws {
    let recorder = Recorder()
    let method = try #require(HTTPMethod(rawValue: message.method ?? "GET"))
    do {
      let (response, data) = try await asker.answer(to: HTTPRequest(method, server.url(message)), recorder)
      try check(message, response, data, interim: recorder.informational.map(\.status.code))
    } catch {
      let error = HTTPError(wrapping: error)
      #expect(error.kind.name == message.expect.refused, "\(error)")
      #expect(error.message.contains("127.0.0.1") || error.kind == .bodyTooLarge, "\(error)")
    }
    if message.idle != nil { try await server.sendIdleBytes(of: message) }
    try await checkConnection(after: message, of: server, by: asker)
  }

  /// Checks that the next request is answered, and over a new connection if the old one must not be reused.
  private static func checkConnection(after message: Message, of server: MessageServer, by asker: Asker) async throws {
    let method = try #require(HTTPMethod(rawValue: message.next ?? "GET"))
    let request = try HTTPRequest(method, server.url(message, "next"))
    let (response, data) = try await asker.answer(to: request, Recorder())
    #expect(response.status == .ok)
    let count = String(decoding: data, as: UTF8.self)
    let expected = message.expect.isReused.map { [$0 ? "2" : "1"] } ?? ["1", "2"]
    #expect(expected.contains(count), "the request was number \(count) of its connection")
  }

  private static func check(_ message: Message, _ response: HTTPResponse, _ data: Data, interim: [Int]) throws {
    let expected = message.expect
    #expect(expected.refused == nil, "it was taken: \(response.status.code), \(data.count) bytes")
    guard expected.refused == nil else { return }
    #expect(response.status.code == expected.status)
    #expect(interim == expected.interim ?? [])
    #expect(data == expected.body?.data)
    try check(expected.fields, response.fields)
    try check(expected.trailers, response.trailers)
  }

  private static func check(_ expected: [String: [Octets]]?, _ fields: HTTPFields) throws {
    for (name, values) in expected ?? [:] {
      #expect(try fields[values: FieldName(name)] == values.map(\.text))
    }
  }
}

/// Sends requests over new connections.
private struct Asker {
  private let transport: any Transport
  private let session: HTTPSession?

  init(_ client: MessageTests.Client, _ transport: any Transport) {
    self.transport = transport
    session = client == .session ? HTTPSession(transport: transport) : nil
  }

  func answer(to request: HTTPRequest, _ recorder: Recorder) async throws -> (HTTPResponse, Data) {
    var request = request
    // no row takes long, but the machine may be busy
    (request.options.responseTimeout, request.options.idleTimeout) = (.seconds(30), .seconds(30))
    guard let session else { return try await transport.answer(to: request, in: recorder.call) }
    request.options.listeners = [recorder]
    let (data, response) = try await session.data(for: request)
    return (response, data)
  }
}
#endif
