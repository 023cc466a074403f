#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing

/// What a client makes of a reply.
enum ReplyOutcome: Sendable, Equatable {
  /// An error of this kind, in the head or in the body, with its message.
  case refused(HTTPError.Kind, String)
  case response(Response)

  struct Response: Sendable, Equatable {
    let status: Int
    let interim: [Int]
    let fields: [String]
    let body: Data
    let trailers: [String]
  }

  /// Asks a transport. A request that was sent over a stale connection is sent again, as a session does it.
  init(of transport: any Transport, _ request: HTTPRequest) async {
    self = await Self.ask(transport, request, attempts: 10)
  }

  private static func ask(_ transport: any Transport, _ request: HTTPRequest, attempts: Int) async -> ReplyOutcome {
    let recorder = Recorder()
    do {
      let response = try await transport.send(request, in: recorder.call)
      let body = try await response.body.collect(upTo: 1 << 20)
      return .response(
        Response(
          status: response.status.code, interim: recorder.informational.map(\.status.code),
          fields: lines(response.fields), body: body, trailers: lines(response.trailers)))
    } catch {
      let error = HTTPError(wrapping: error)
      guard attempts > 1, error.delivery == .staleConnection else { return .refused(error.kind, error.message) }
      return await ask(transport, request, attempts: attempts - 1)
    }
  }

  private static func lines(_ fields: HTTPFields) -> [String] { fields.map { "\($0.name.rawName): \($0.value)" } }

  /// Errors are equal if their kinds are: the words differ.
  static func == (one: ReplyOutcome, other: ReplyOutcome) -> Bool {
    switch (one, other) {
    case (.refused(let one, _), .refused(let other, _)): one == other
    case (.response(let one), .response(let other)): one == other
    default: false
    }
  }

  var kind: HTTPError.Kind? { if case .refused(let kind, _) = self { kind } else { nil } }

  /// The message of the error; empty for a response.
  var message: String { if case .refused(_, let message) = self { message } else { "" } }

  var response: Response? { if case .response(let response) = self { response } else { nil } }
}
#endif
