public import MartletSemantics

/// Puts a CSRF token on every request that could change something, fetches it where there is none, and renews it where the
/// server no longer takes it: the protocol of SAP Gateway, SAP Mobile Services and Tomcat.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.interceptors = [CSRFInterceptor(root: serviceURL)]
/// let session = HTTPSession(transport: transport, configuration: configuration)
/// ```
///
/// A token is fetched through the same session, with `HEAD` or, where that brings none, `GET` and the field
/// `X-CSRF-Token: Fetch`, first at the URL as it was written, then with the slash at its end added or taken away. It is valid
/// together with the session cookie of the same response only, so the session has to keep cookies. A response of
/// another session, which a server opened for a parallel request, does not part them: the cookies that were in the jar with the
/// token are replaced only by responses to requests that carried them, and by successful responses to unsafe methods, such as a
/// login; what replaced them belongs to no token until the next is fetched. One fetch at a time runs for a URL; requests that need the token
/// wait for it, and one that is cancelled leaves the fetch to the others. A token is sent to the origin that it came from, and
/// to no other.
///
/// A response with status 403 and `X-CSRF-Token: Required` makes the interceptor renew the token and send the request again,
/// once; a second refusal is the caller's response. A refused token is not used again. A server that gives no token is asked
/// without one. `GET`, `HEAD`, `OPTIONS` and `TRACE` need no token, and a request that has the field already keeps its own.
///
/// Put it into ``SessionConfiguration/interceptors``; several, for several services, go well together.
public final class CSRFInterceptor: Interceptor {
  /// Where the token for a request is fetched; nil if the request needs none.
  public typealias TokenURL = @Sendable (HTTPRequest) async throws -> URL?

  /// What was done for an exchange so far.
  private struct Progress {
    /// Where the token of the attempt came from; nil where it was none of ours to give.
    var source: URL?
    /// What the attempt carried; nil where there was no token to be had.
    var token: String?
    /// How many fetches had ended when it went out.
    var generation = 0
    var hasResent: Bool
  }

  private let tokenURL: TokenURL
  /// Where a token is fetched for a request that was thought to need none, and was refused for it.
  private let fallback: URL?
  private let options: CSRFOptions
  private let stepAside = StepAside()
  private let tokens: CSRFTokens
  private let demands = CSRFDemands()
  private let progress = ExchangeLocal(Progress(hasResent: false))

  /// Makes an interceptor that asks a closure which requests are protected, and where their tokens are fetched.
  ///
  /// The closure is called for every request, and a token URL on another origin than the request's is not used.
  public convenience init(options: CSRFOptions = .init(), tokenURL: @escaping TokenURL) {
    self.init(options: options, fallback: nil, tokenURL: tokenURL)
  }

  private init(options: CSRFOptions, fallback: URL?, tokenURL: @escaping TokenURL) {
    self.tokenURL = tokenURL
    self.fallback = fallback
    self.options = options
    tokens = CSRFTokens(options, stepAside: stepAside)
  }

  /// Makes an interceptor for all requests at and below a root URL, whose tokens are fetched from the root. Other requests to
  /// its origin get one when the server requires it, and at once for the paths where it did before, and below them (100 paths at
  /// most are remembered, until a renewed token is refused there).
  public convenience init(root: URL, options: CSRFOptions = .init()) {
    self.init(options: options, fallback: root) { CSRFRule.covers(root, $0.url) ? root : nil }
  }

  /// Makes an interceptor for all requests to the origin of a URL, whose tokens are fetched from that URL.
  public convenience init(tokenURL url: URL, options: CSRFOptions = .init()) {
    self.init(options: options) { Origin($0.url) == Origin(url) ? url : nil }
  }

  public func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard !stepAside.isActive else { return request }
    let earlier = exchange[progress]
    var state = Progress(hasResent: earlier.hasResent)
    var request = request
    if CSRFRule.protects(request.method), !request.fields.contains(options.field) {
      state.source = try await source(of: request) ?? (demands.cover(request.url) ? fallback(for: request) : nil)
    }
    if let source = state.source {
      state.token = try await tokens.token(for: source, mustHold: !request.body.isReplayable, in: exchange)
      request.fields[options.field] = state.token
    }
    state.generation = tokens.generation
    exchange[progress] = state
    return request
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    guard !stepAside.isActive, case .success(let response) = outcome else { return .accept }
    let state = exchange[progress]
    if CSRFRule.refuses(response.head, options), let source = state.source ?? unexpected(attempt.sent) {
      return try await renew(source, after: state, attempt, in: exchange)
    }
    // a token in a stored response is an old one
    if let head = response.wire, let token = CSRFRule.token(in: head, field: options.field) {
      try await learn(token, from: response, of: attempt, state, in: exchange)
    } else if let source = state.source, state.token == nil, response.status.isSuccessful {
      tokens.remember(unprotected: source)
    }
    return .accept
  }

  /// The server wants a token, or a newer one.
  private func renew(
    _ source: URL, after state: Progress, _ attempt: Attempt, in exchange: Exchange
  ) async throws -> Verdict {
    guard !state.hasResent else {
      demands.forget(attempt.sent.url)
      if let token = state.token { await tokens.discard(token, of: source, in: exchange) }
      exchange.emit(.note("not sent again: the server refused the renewed CSRF token too"))
      return .accept
    }
    exchange[progress].hasResent = true
    let token = try await tokens.replacement(
      for: state.token, of: source, since: state.generation, in: exchange)
    guard token != nil else { return .accept }
    if state.source == nil { demands.learn(attempt.sent.url) }
    guard attempt.request.body.canBeSent else {
      exchange.emit(
        .note("not sent again with a new CSRF token: the body cannot be sent twice; use RequestBody.stream"))
      return .accept
    }
    return .resend(attempt.request, reason: "the server required a CSRF token")
  }

  private func learn(
    _ token: String, from response: HTTPResponse, of attempt: Attempt, _ state: Progress, in exchange: Exchange
  ) async throws {
    var source = state.source
    if source == nil { source = try await self.source(of: attempt.sent) }
    guard let source, Origin(response.url) == Origin(source) else { return }
    guard !tokens.isKnown(token, for: source) else { return }
    if let session = exchange.session, await !session.holdsSession(of: response, to: attempt.sent) { return }
    await tokens.learn(token, for: source, since: state.generation, in: exchange)
  }

  /// Where the token comes from for a request that was thought to need none.
  private func unexpected(_ request: HTTPRequest) -> URL? {
    guard CSRFRule.protects(request.method), !request.fields.contains(options.field) else { return nil }
    return fallback(for: request)
  }

  private func fallback(for request: HTTPRequest) -> URL? {
    fallback.flatMap { Origin($0) == Origin(request.url) ? $0 : nil }
  }

  /// Where the request's token comes from, if that is its own origin.
  private func source(of request: HTTPRequest) async throws -> URL? {
    guard let url = try await tokenURL(request), let origin = Origin(url), origin == Origin(request.url) else {
      return nil
    }
    return url
  }
}
