import MartletEngine

/// Stands directly above the wire: an answer that an observer gave in place of the network comes from here, so that
/// everything above treats it as a response.
struct SAPTransport: Transport {
  let base: any Transport
  /// The answer to an exchange's next attempt.
  let answer = ExchangeLocal<HTTPResponse?>(nil)

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    guard let response = exchange[answer] else { return try await base.send(request, in: exchange) }
    exchange[answer] = nil
    return response
  }
}
