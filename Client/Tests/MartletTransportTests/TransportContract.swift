import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import MartletURLSession
import Synchronization
@_exported import TestSupport
import Testing

/// The behaviour that all transports share: sockets, URLSession and the mock.
///
/// Its tests run one after another: Foundation's URLSession blocks threads of the cooperative pool. The pool has as
/// many threads as the machine has cores, so many tests at once would block each other.
@Suite(.serialized) enum TransportContract {}

/// The transports with which the contract is tested.
enum TestedTransport: String, Codable, Sendable, CaseIterable, CustomTestStringConvertible {
  case sockets
  case urlSession
  case mock

  /// The transports that connect to a server.
  static let real: [TestedTransport] = [.sockets, .urlSession]

  var testDescription: String { rawValue }

  var isURLSession: Bool { self == .urlSession }

  /// Makes a transport that connects to a server.
  func makeTransport(_ connection: ConnectionConfiguration = .init()) -> any Transport {
    switch self {
    case .urlSession: URLSessionTransport(connection)
    case .sockets, .mock: SocketTransport(connection)
    }
  }
}

/// A transport, and a closure that answers its requests: in a server, or in the mock transport itself.
struct TransportFixture {
  let transport: any Transport
  let base: URL
  private let server: LoopbackServer?

  /// The received request.
  struct Request {
    let method: HTTPMethod
    let target: String
    let fields: HTTPFields
    let body: Data
  }

  /// The response to send.
  struct Response: Answer {
    var status: HTTPStatus
    var fields: HTTPFields
    var content: Data
    var interim: [ResponseHead] = []

    init(status: HTTPStatus, fields: HTTPFields, content: Data) {
      self.status = status
      self.fields = fields
      self.content = content
    }
  }

  init(_ tested: TestedTransport, answer: @escaping @Sendable (Request) -> Response) throws {
    guard tested == .mock else {
      let server = try LoopbackServer { received in
        let response = answer(
          Request(
            method: received.method, target: received.target, fields: received.fields, body: received.received.body))
        let final = Reply(status: response.status, fields: response.fields, content: response.content)
        return response.interim.reduce(final) { $0.preceded(by: $1.status, fields: $1.fields) }
      }
      self.server = server
      transport = tested.makeTransport()
      base = server.url
      return
    }
    server = nil
    base = try #require(URL(string: "http://mock.invalid"))
    transport = MockTransport { received in
      let request = Request(
        method: received.method, target: received.url.path, fields: received.request.fields,
        body: try await received.readBody(upTo: 64 << 20))
      let response = answer(request)
      var mock = MockResponse(
        status: response.status, fields: response.fields,
        content: request.method == .head ? Data() : response.content)
      mock.interim = response.interim
      return mock
    }
  }

  func url(_ target: String) throws -> URL { try #require(URL(string: base.absoluteString + target)) }
}

/// Returns a request with long timeouts, so that a test ends if the transport does not respond, but not because the
/// machine is busy.
func guarded(
  _ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], body: RequestBody = .empty
) -> HTTPRequest {
  var request = HTTPRequest(method, url, fields: fields, body: body)
  request.options.responseTimeout = .seconds(120)
  request.options.idleTimeout = .seconds(120)
  return request
}

extension Transport {
  /// Sends the request and collects the body.
  func answer(
    to request: HTTPRequest, in call: Call = Call()
  ) async throws -> (HTTPResponse, Data) {
    let response = try await send(request, in: call)
    return (response, try await response.body.collect(upTo: 1 << 30))
  }

  /// Expects that the call fails, while waiting for the head or in the body, and returns the error.
  func failure(of request: HTTPRequest) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) { _ = try await answer(to: request) }
    return HTTPError(wrapping: try #require(error))
  }
}

/// Records events.
final class Recorder: EventListener {
  let events: Event.Kinds
  private let received = Mutex<[Event]>([])

  init(_ events: Event.Kinds = .exceptBytes) { self.events = events }

  func receive(_ event: Event, in call: Call) { received.withLock { $0.append(event) } }

  var call: Call { Call(listeners: [self]) }

  /// The kinds of all events.
  var kinds: Event.Kinds { received.withLock { $0.reduce([]) { $0.union($1.kind) } } }

  var informational: [ResponseHead] {
    received.withLock { $0 }.compactMap { if case .informational(let head) = $0 { head } else { nil } }
  }

  var metrics: [TransferMetrics] {
    received.withLock { $0 }.compactMap { if case .metrics(let metrics) = $0 { metrics } else { nil } }
  }

  func progress(_ direction: Event.Progress.Direction) -> [Event.Progress] {
    received.withLock { $0 }.compactMap {
      if case .progress(let progress) = $0, progress.direction == direction { progress } else { nil }
    }
  }
}

/// Returns bytes that differ everywhere, so that missing, repeated and exchanged parts are noticed.
func pattern(_ count: Int, from start: Int = 0) -> Data { allBytes.subdata(in: start..<(start + count)) }

private let allBytes: Data = {
  var bytes = Data(count: 4 << 20)
  bytes.withUnsafeMutableBytes { room in
    let words = room.bindMemory(to: UInt32.self)
    var word: UInt32 = 1
    for index in words.indices {
      word = word &* 1_664_525 &+ 1_013_904_223
      words[index] = word
    }
  }
  return bytes
}()

/// An error of a test.
struct Mishap: Error, Equatable {}
