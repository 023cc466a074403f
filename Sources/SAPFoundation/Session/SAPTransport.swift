import MartletEngine

/// Stands directly above the wire: an answer that an observer gave in place of the network comes from here, so that
/// everything above treats it as a response.
struct SAPTransport: Transport {
  let base: any Transport
  /// Whose exchange it is.
  let task = ExchangeLocal<SAPURLSessionTask?>(nil)
  /// The answer to an exchange's next attempt.
  let answer = ExchangeLocal<HTTPResponse?>(nil)

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    if let response = exchange[answer] {
      exchange[answer] = nil
      return response
    }
    guard let asking = base as? any AskingTransport, let task = exchange[task] else {
      return try await base.send(request, in: exchange)
    }
    return try await asking.send(request, in: exchange, for: task)
  }
}

/// A wire that has something to ask observers and the delegate.
protocol AskingTransport: Transport {
  func send(_ request: HTTPRequest, in exchange: Exchange, for task: SAPURLSessionTask) async throws -> HTTPResponse

  /// Forgets what it was answered.
  func forgetAnswers()
}
