public import MartletEngine
import MartletSemantics

/// A transport that answers in order, one response a request.
///
/// ```swift
/// let transport = ScriptedTransport(.status(503), .failure(HTTPError(.connectionLost, "…")), .text("at last"))
/// ```
///
/// A request after the last answer is an error that says what was asked.
public final class ScriptedTransport: Transport {
  private let script: [MockResponse]
  private let asked = Watched<[HTTPRequest]>([])

  /// Makes a transport with its answers in order.
  public init(_ script: MockResponse...) { self.script = script }

  /// Makes a transport with its answers in order.
  public init(_ script: [MockResponse]) { self.script = script }

  /// The requests so far, in order, those without an answer included.
  public var requests: [HTTPRequest] { asked.state }

  /// How many answers were not asked for.
  public var remaining: Int { max(0, script.count - asked.state.count) }

  /// Answers with the next of the script.
  ///
  /// - Throws: the script's failure, or an `HTTPError` of kind `.other` when the script is used up.
  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let number = asked.update { requests in
      requests.append(request)
      return requests.count
    }
    guard number <= script.count else {
      throw HTTPError(
        .other,
        "the script of \(script.count) answers has none for request \(number), \(request.method) "
          + "\(request.url.redacted): add one, or find out why it was asked for")
    }
    let answer = script[number - 1]
    return try await MockTransport { _ in answer }.send(request, in: exchange)
  }
}
