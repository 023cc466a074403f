@_spi(Toolkit) public import MartletEngine
public import MartletSemantics
import Synchronization

/// Adds a CSRF token to every request that may change data. It fetches the token first if there is none, and renews it
/// when the server refuses it. This is the protocol of SAP Gateway, SAP Mobile Services and Tomcat.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.interceptors = [CSRFInterceptor(root: serviceURL)]
/// let session = HTTPSession(transport: transport, configuration: configuration)
/// ```
///
/// - **Fetching.** A token is fetched through the same session, by `HEAD` with the field `X-CSRF-Token: Fetch`, then by
///   `GET` if that response has no token, or the connection ended instead of it. If the server does not know the URL,
///   the URL is also tried with the slash at its end added or removed. One fetch at a time runs for a URL, and all
///   requests that need the token wait for it. Cancelling a request does not cancel the fetch. Requests that the fetch
///   itself depends on are sent without a token (see ``Martlet/CallContext``).
/// - **Cookies.** A token is valid only together with the session cookie of the same response, so the session has to
///   store cookies. Servers open a new session for every request without a cookie, and the cookies of such a response
///   must not replace the token's. So only two kinds of responses replace them: responses to requests that sent these
///   cookies, and successful responses to unsafe methods, such as a login. No token belongs to the new cookies until
///   the next fetch.
/// - **Origins.** A token is sent only to the origin that issued it.
/// - **Refusals.** After a response with status 403 and `X-CSRF-Token: Required`, the token is renewed and the request
///   is sent again. If it is refused again although no other write can be the reason, the caller gets the response. A
///   refused token is not used again.
/// - **Tokens that end with a write.** On some servers, a write invalidates the token or the session of the writes that
///   run at the same time. A request that may have been refused again for this reason waits for its turn, in order of
///   arrival, and is then sent alone: at most four times, with tokens that are fetched for it. Other writes with the
///   same token URL wait in the meantime. A write stops waiting if no other write ends within
///   ``Martlet/RequestOptions/responseTimeout``.
/// - **Servers without tokens.** If no token can be fetched, requests are sent without one. If they are refused, the
///   next write fetches again. From the second such fetch on, none follows for a pause, unless the cookies for the URL
///   change: a second, doubled each time, up to 30 seconds.
/// - **Exceptions.** `GET`, `HEAD`, `OPTIONS`, `TRACE` and `QUERY` need no token. A request that already has the field
///   is not changed.
///
/// Add it to ``Martlet/SessionConfiguration/interceptors``. A session can have several, for several services.
public final class CSRFInterceptor: Interceptor {
  /// Returns the URL from which the token for a request is fetched; nil if the request needs none.
  public typealias TokenURL = @Sendable (HTTPRequest) async throws -> URL?

  /// The state of one call.
  private struct CallState {
    /// The URL from which the token of the attempt was fetched; nil if this interceptor added none.
    var source: URL?
    /// The token of the attempt; nil if none was available.
    var token: String?
    /// The number of fetches that had ended when the attempt was sent.
    var generation = 0
    /// Whether the server answered a fetch for the attempt without a token.
    var isWithoutToken = false
    /// The place of the attempt among the writes of the same source; nil if it has no source, and after its review.
    var place: WriteLines.Place?
    /// The number of writes with the same token URL that had not been refused when the attempt began.
    var accepted = 0
    var repetition = Repetition.none
  }

  /// How a refused request is sent again.
  private enum Repetition {
    case none
    /// With a renewed token, beside other writes.
    case besideOthers
    /// Alone, with the current token, since other writes may have ended the renewed one. `refusals` counts the refusals
    /// while it was alone. `earlierFetches` is the number of fetches that had begun before the first of these refusals
    /// or, if there was none, before the request was alone.
    case alone(refusals: Int, earlierFetches: Int)
    /// Alone, with a token that was fetched for it, for the last time.
    case last
  }

  private let tokenURL: TokenURL
  /// The token URL of requests outside the root that the server refused for lack of a token.
  private let fallback: URL?
  private let options: CSRFOptions
  private let unnamed: CSRFTokens
  /// The tokens of the most recently used partitions, by name. A partition with a write in progress is not removed.
  private let partitions: Mutex<LRUStorage<String, CSRFTokens>>
  private static let partitionLimit = 1024
  private let protectedPaths = CSRFProtectedPaths()
  private let states = CallLocal(CallState())

  /// Makes an interceptor with a closure that decides which requests need a token, and returns the URL of its fetch.
  ///
  /// - Parameters:
  ///   - options: the protocol's details.
  ///   - tokenURL: called for every request that may change data, and for every other one whose response has a token. A
  ///     URL whose origin differs from the request's is ignored.
  public convenience init(options: CSRFOptions = .init(), tokenURL: @escaping TokenURL) {
    self.init(options: options, fallback: nil, partitionLimit: Self.partitionLimit, tokenURL: tokenURL)
  }

  private init(options: CSRFOptions, fallback: URL?, partitionLimit: Int, tokenURL: @escaping TokenURL) {
    self.tokenURL = tokenURL
    self.fallback = fallback
    self.options = options
    partitions = Mutex(LRUStorage(countLimit: partitionLimit, isInUse: { $0.isInUse }))
    unnamed = CSRFTokens(options)
  }

  /// Makes an interceptor for all requests at and below a root URL, from which their tokens are fetched.
  ///
  /// Other requests to its origin get a token when the server requires one. Their paths are remembered, so that later
  /// requests at and below them get a token from the start. The last 100 paths are kept, each until a renewed token is
  /// refused there.
  public convenience init(root: URL, options: CSRFOptions = .init()) {
    self.init(root: root, options: options, partitionLimit: Self.partitionLimit)
  }

  convenience init(root: URL, options: CSRFOptions = .init(), partitionLimit: Int) {
    self.init(options: options, fallback: root, partitionLimit: partitionLimit) {
      CSRFRule.covers(root, $0.url) ? root : nil
    }
  }

  /// Makes an interceptor for all requests to the origin of a URL, from which their tokens are fetched.
  public convenience init(tokenURL url: URL, options: CSRFOptions = .init()) {
    self.init(options: options) { Origin($0.url) == Origin(url) ? url : nil }
  }

  /// Removes all tokens, except those in the store, when the user signs out. The result of a running fetch is
  /// discarded, and the requests that wait for it fail.
  @_spi(Credentials) public func forget() {
    unnamed.forget()
    for tokens in partitions.withLock({ $0.values }) { tokens.forget() }
  }

  /// Returns the tokens of a request's partition. They belong to its cookies.
  private func tokens(for request: HTTPRequest) -> CSRFTokens {
    let name = request.options.partition
    guard !name.isEmpty else { return unnamed }
    return partitions.withLock { partitions in
      if let known = partitions.use(name) { return known }
      var options = options
      options.store = MemoryCSRFTokenStore()
      let tokens = CSRFTokens(options, partition: name)
      partitions.set(tokens, for: name)
      return tokens
    }
  }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let tokens = tokens(for: request)
    guard !tokens.isFetch(call) else { return .send(request) }
    let earlier = call[states]
    var state = CallState(repetition: earlier.repetition)
    var request = request
    if CSRFRule.protects(request.method), !request.fields.contains(options.field) {
      state.source =
        try await source(of: request) ?? (protectedPaths.contains(request.url) ? fallback(for: request) : nil)
    }
    if let source = state.source {
      let place = try await tokens.lines.enter(source, from: earlier.place, in: call)
      (state.place, state.accepted) = (place, tokens.lines.accepted(near: place))
      let found = try await tokens.token(for: source, skipsUnprotected: request.body.isReplayable, in: call)
      (state.token, state.isWithoutToken) = (found.token, found.isWithoutToken)
      request.fields[options.field] = state.token
    } else if let place = earlier.place {
      tokens.lines.leave(place, .maybeAccepted)
    }
    state.generation = tokens.generation
    call[states] = state
    return .send(request)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let tokens = tokens(for: attempt.sent)
    guard !tokens.isFetch(call) else { return .accept }
    let state = call[states]
    if case .success(let response) = outcome {
      if CSRFRule.refuses(response.head, options), let source = state.source ?? fallbackSource(for: attempt.sent) {
        return try await renew(source, after: state, attempt, in: call)
      }
      // A token in a stored response is outdated.
      if let head = response.networkHead, let token = CSRFRule.token(in: head, field: options.field) {
        try await storeToken(token, from: response, of: attempt, state, in: call)
      } else if let source = state.source, state.token == nil, response.networkHead != nil, response.status.isSuccessful
      {
        tokens.markUnprotected(source)
      }
    }
    await finish(state, .maybeAccepted, tokens, in: call)
    return .accept
  }

  /// Ends the attempt's place among the writes, so that others can begin. If tokens end with a write, its token is
  /// discarded.
  private func finish(_ state: CallState, _ end: WriteLines.End, _ tokens: CSRFTokens, in call: Call) async {
    guard let place = state.place else { return }
    if end == .maybeAccepted {
      tokens.recordUse(of: state.token, for: place.url)
      if let token = state.token, tokens.lines.tokensEnd(at: place) {
        await tokens.discard(token, of: place.url, in: call)
      }
    }
    call[states].place = nil
    tokens.lines.leave(place, end)
  }

  /// Handles a refusal: gets a new token and sends the request again.
  private func renew(
    _ source: URL, after earlier: CallState, _ attempt: Attempt, in call: Call
  ) async throws -> Verdict {
    let tokens = tokens(for: attempt.sent)
    var state = earlier
    guard try await advance(&state, tokens, in: call) else {
      protectedPaths.remove(attempt.sent.url)
      if let token = state.token { await tokens.discard(token, of: source, in: call) }
      call.emit(.note("not sent again: the server refused the renewed CSRF token too"))
      await finish(state, .refused, tokens, in: call)
      return .accept
    }
    let found =
      state.isWithoutToken
      ? nil : try await tokens.replacement(for: state.token, of: source, since: state.generation, in: call)
    // A fetch that began before the request was alone may have returned a token that has ended since.
    if case .alone(_, let earlierFetches) = state.repetition, let fetch = found?.fetch, fetch > earlierFetches {
      state.repetition = .last
    }
    call[states] = state
    guard found?.token != nil else {
      await finish(state, .refused, tokens, in: call)
      return .accept
    }
    if state.source == nil { protectedPaths.insert(attempt.sent.url) }
    guard attempt.request.body.canBeSent else {
      call.emit(
        .note("not sent again with a new CSRF token: the body cannot be sent twice; use RequestBody.stream"))
      await finish(state, .refused, tokens, in: call)
      return .accept
    }
    return .resend(attempt.request, reason: "the server required a CSRF token")
  }

  /// Decides how a refused request is sent again: beside other writes, then alone, as long as other writes may have
  /// ended its token. A request that is to be sent alone waits for its turn here.
  ///
  /// - Returns: false if it is not sent again.
  private func advance(_ state: inout CallState, _ tokens: CSRFTokens, in call: Call) async throws -> Bool {
    let isAlone = state.place?.isAlone ?? false
    if case .none = state.repetition, !isAlone {
      await finish(state, .refused, tokens, in: call)
      (state.repetition, state.place) = (.besideOthers, nil)
      return true
    }
    guard let place = state.place else { return false }
    switch state.repetition {
    case .besideOthers where !isAlone:
      let place = try await tokens.lines.isolate(place, in: call)
      (state.repetition, state.place) = (.alone(refusals: 0, earlierFetches: tokens.begunFetches), place)
      return tokens.lines.accepted(near: place) > state.accepted || tokens.isUsed(state.token, for: place.url)
    case .none, .besideOthers, .alone(refusals: 0, _):
      tokens.lines.recordThatTokensEnd(at: place)
      state.repetition = .alone(refusals: 1, earlierFetches: tokens.begunFetches)
    case .alone(let refusals, let earlierFetches):
      tokens.lines.recordThatTokensEnd(at: place)
      let isLast = refusals + 1 == Self.refusalLimit
      state.repetition = isLast ? .last : .alone(refusals: refusals + 1, earlierFetches: earlierFetches)
    case .last: return false
    }
    return true
  }

  /// After this number of refusals, a request that is sent alone is sent one last time.
  private static let refusalLimit = 3

  /// Stores the token of a response, if it is newer than the one in use and belongs to the stored cookies.
  private func storeToken(
    _ token: String, from response: HTTPResponse, of attempt: Attempt, _ state: CallState, in call: Call
  ) async throws {
    var source = state.source
    if source == nil { source = try await self.source(of: attempt.sent) }
    guard let source, Origin(response.url) == Origin(source) else { return }
    let tokens = tokens(for: attempt.sent)
    guard !tokens.isKnown(token, for: source) else { return }
    if let session = call.session, await !session.holdsSession(of: response, to: attempt.sent) { return }
    await tokens.update(token, for: source, since: state.generation, in: call)
    if let place = state.place, place.isAlone { tokens.lines.recordThatTokensEnd(at: place) }
  }

  /// Returns the token URL for a request that was refused although this interceptor expected no token to be needed.
  private func fallbackSource(for request: HTTPRequest) -> URL? {
    guard CSRFRule.protects(request.method), !request.fields.contains(options.field) else { return nil }
    return fallback(for: request)
  }

  private func fallback(for request: HTTPRequest) -> URL? {
    fallback.flatMap { Origin($0) == request.origin ? $0 : nil }
  }

  /// Returns the token URL of a request; nil if it needs no token, or the URL has another origin.
  private func source(of request: HTTPRequest) async throws -> URL? {
    guard let url = try await tokenURL(request), let origin = Origin(url), origin == request.origin else {
      return nil
    }
    return url
  }
}

/// The paths outside the root at which a server has required a token.
private final class CSRFProtectedPaths: Sendable {
  /// A path with a slash at its end, and everything below it.
  private struct Folder: Hashable {
    let origin: Origin
    let path: String

    init?(_ url: URL) {
      guard let origin = Origin(url) else { return nil }
      self.origin = origin
      path = CSRFRule.path(of: url.standardized, endsInSlash: true)
    }

    func contains(_ other: Folder) -> Bool { origin == other.origin && other.path.hasPrefix(path) }
  }

  private let folders = Mutex(LRUStorage<Folder, Void>(countLimit: 100))

  /// Adds the path of a URL for which the server required a token. The query does not count.
  func insert(_ url: URL) {
    guard let folder = Folder(url) else { return }
    folders.withLock { folders in
      folders.removeAll { folder.contains($0.key) }
      folders.set((), for: folder)
    }
  }

  /// Returns whether a URL is at or below one of the paths.
  func contains(_ url: URL) -> Bool {
    folders.withLock { folders in
      guard !folders.isEmpty, let folder = Folder(url), let known = folders.keys.first(where: { $0.contains(folder) })
      else { return false }
      return folders.use(known) != nil
    }
  }

  /// Removes the path of a URL and those above it: the server refused a new token there.
  func remove(_ url: URL) {
    folders.withLock { folders in
      guard !folders.isEmpty, let folder = Folder(url) else { return }
      folders.removeAll { $0.key.contains(folder) }
    }
  }
}

extension CSRFInterceptor: CustomReflectable {
  /// A mirror without children: the URL may contain secrets.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
