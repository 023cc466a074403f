import MartletSemantics

/// Lets credential sources speak, each for its own origins.
///
/// A session makes one of ``SessionConfiguration/credentials``, which stands between the caller's interceptors, who may
/// set `Authorization` themselves, and retries and redirects, which decide first what comes next: where a redirect leads,
/// the sources are asked again for that origin. Make another one only where credentials have to come at a certain place
/// among ``SessionConfiguration/interceptors``.
///
/// Who computes which scheme: for origins the engine computes Basic, Bearer and Digest, on every transport alike, because
/// only it knows what was asked, what was answered before, and when to stop. Negotiate (GSS-API) for origins, and
/// everything for proxies, is the transport's: those belong to a connection, which only the transport knows.
///
/// User information in a request's URL is a source too, and the first: `http://user:password@host/` answers a challenge of
/// that origin, is never sent unasked, and never as part of the URL.
public struct AuthenticationInterceptor: Interceptor {
  private let sources: [any CredentialSource]
  private let urls: URLCredentials
  private let round = ExchangeLocal(Round())

  /// How far an exchange is with its sources, each of them a place in the list.
  private struct Round: Sendable {
    /// Those that answer for the attempt's origin; none where the request is left alone.
    var candidates: [Int] = []
    /// The one that authorized the attempt.
    var authorizer: Int?
    /// The one that has an answer to the last 401.
    var answering: Int?
    /// Why there is no answer to the last 401: nobody could be reached who has one.
    var obstacle: HTTPError?
  }

  /// Makes an interceptor of sources, which are asked in this order.
  public init(_ sources: [any CredentialSource]) {
    urls = URLCredentials()
    self.sources = [urls.source] + sources
  }

  public func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    var request = urls.take(from: request, in: exchange)
    guard sources.count > 1 || !urls.isEmpty(in: exchange) else { return request }
    var round = exchange[round]
    round.candidates = candidates(for: request, in: exchange)
    round.authorizer = nil
    if let obstacle = round.obstacle.take() { request.options.obstacle = obstacle }
    for index in Self.order(round.candidates, first: round.answering) where request.options.obstacle == nil {
      do { request = try await sources[index].authorize(request, in: exchange) } catch {
        request.options.obstacle = try Self.obstacle(in: error, to: request)
      }
      guard request.fields.contains(.authorization) else { continue }
      round.authorizer = index
      break
    }
    exchange[self.round] = round
    return request
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    let round = exchange[round]
    guard case .success(let response) = outcome, !round.candidates.isEmpty else { return .accept }
    guard response.status == .unauthorized else {
      if let index = round.authorizer, let head = response.wire {
        try sources[index].accepted(head, to: attempt.sent, in: exchange)
      }
      return .accept
    }
    guard let rejection = Rejection(of: attempt.sent, by: response.head) else { return .accept }
    for index in Self.order(round.candidates, first: round.authorizer) {
      do {
        guard try await sources[index].authenticate(after: rejection, in: exchange) else { continue }
      } catch {
        exchange[self.round].obstacle = try Self.obstacle(in: error, to: attempt.request)
      }
      guard attempt.request.body.canBeSent else {
        if let obstacle = exchange[self.round].obstacle { throw obstacle }
        return .accept
      }
      exchange[self.round].answering = index
      let reason =
        exchange[self.round].obstacle == nil
        ? "wants other credentials (401)"
        : "wants other credentials (401), which could not be had: a stored answer may do"
      return .resend(attempt.request, reason: "\(rejection.origin) \(reason)")
    }
    return .accept
  }

  /// What keeps a request from the network, where its credentials could not be had because nobody could be reached, or where
  /// it is not to be sent anyway: a stored answer may do, and a retry may help. Any other error ends the exchange.
  private static func obstacle(in error: any Error, to request: HTTPRequest) throws -> HTTPError {
    var obstacle = HTTPError(wrapping: error)
    let staysHere = request.options.cachePolicy == .returnCacheDataDontLoad && !obstacle.isCancelled
    guard obstacle.meansUnreachable || staysHere else { throw error }
    obstacle.delivery = .unknown
    obstacle.phase = .preparing
    return obstacle
  }

  private func candidates(for request: HTTPRequest, in exchange: Exchange) -> [Int] {
    guard !request.fields.contains(.authorization), let origin = Origin(request.url) else { return [] }
    return sources.indices.filter { index in
      index == 0 ? urls.knows(origin, in: exchange) : sources[index].scope.covers(origin)
    }
  }

  private static func order(_ candidates: [Int], first: Int?) -> [Int] {
    guard let first, candidates.contains(first) else { return candidates }
    return [first] + candidates.filter { $0 != first }
  }
}
