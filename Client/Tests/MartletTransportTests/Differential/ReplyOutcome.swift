#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing

/// What our transport makes of a reply.
enum ReplyOutcome: Sendable {
  /// An error of this kind, in the head or in the body, with its message.
  case refused(HTTPError.Kind, String)
  case response(Response)

  struct Response: Sendable {
    let status: Int
    let fields: [String]
    let body: Data
  }

  /// Sends the request over a transport. If it was sent over a stale connection, it is sent again, like in a session.
  init(of transport: any Transport, _ request: HTTPRequest) async {
    self = await Self.ask(transport, request, attempts: 10)
  }

  private static func ask(_ transport: any Transport, _ request: HTTPRequest, attempts: Int) async -> ReplyOutcome {
    do {
      let response = try await transport.send(request, in: Call())
      let body = try await response.body.collect(upTo: .max)
      return .response(
        Response(
          status: response.status.code, fields: response.fields.map { "\($0.name.rawName): \($0.value)" }, body: body))
    } catch {
      let error = HTTPError(wrapping: error)
      guard attempts > 1, error.delivery == .staleConnection else { return .refused(error.kind, error.message) }
      return await ask(transport, request, attempts: attempts - 1)
    }
  }

  var kind: HTTPError.Kind? { if case .refused(let kind, _) = self { kind } else { nil } }

  /// The message of the error; empty for a response.
  var message: String { if case .refused(_, let message) = self { message } else { "" } }

  var response: Response? { if case .response(let response) = self { response } else { nil } }
}
#endif
