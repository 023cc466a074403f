public import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletServer

/// A transport that answers requests from a list of responses, in order.
///
/// ```swift
/// let transport = ScriptedTransport(.status(503), .failure(HTTPError(.connectionLost, "…")), .text("at last"))
/// ```
///
/// A request after the last response is an error that names the request.
public final class ScriptedTransport: Transport {
  private let script: [MockResponse]
  private let received = Awaitable<[HTTPRequest]>([])

  /// Makes a transport with its responses in order.
  public init(_ script: MockResponse...) { self.script = script }

  /// Makes a transport with its responses in order.
  public init(_ script: [MockResponse]) { self.script = script }

  /// The requests so far, in order, including those without a response.
  public var requests: [HTTPRequest] { received.value }

  /// The number of unused responses.
  public var remaining: Int { max(0, script.count - received.value.count) }

  /// Answers with the next response.
  ///
  /// - Throws: the script's failure, or an `HTTPError` of kind `.other` if there is no response left.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let number = received.update { requests in
      requests.append(request)
      return requests.count
    }
    guard number <= script.count else {
      throw HTTPError(
        .other,
        "the script of \(script.count) responses has none for request \(number), \(request.method) "
          + "\(request.url.redacted): add one, or find out why the request was made")
    }
    let answer = script[number - 1]
    return try await MockTransport { _ in answer }.send(request, in: call)
  }
}
