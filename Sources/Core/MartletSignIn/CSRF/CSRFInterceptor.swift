public import MartletEngine
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
/// - **Fetching.** A token is fetched through the same session, with the field `X-CSRF-Token: Fetch`: by `HEAD` or, if
///   that returns none, `GET`, first at the given URL, then with the slash at its end added or removed. One fetch at a
///   time runs for a URL, and all requests that need the token wait for it. Cancelling a request does not cancel the
///   fetch. Requests that the fetch itself depends on are sent without a token (see ``Martlet/CallContext``). If the
///   server returns no token, requests are sent without one.
/// - **Cookies.** A token is valid only together with the session cookie of the same response, so the session has to
///   store cookies. Servers open a new session for every request without a cookie, and its response must not replace
///   the cookies of the token. Only two kinds of responses replace them: those to requests that sent them, and
///   successful ones to unsafe methods, such as a login. The new cookies belong to no token until the next fetch.
/// - **Origins.** A token is sent only to the origin that issued it.
/// - **Refusals.** After a response with status 403 and `X-CSRF-Token: Required`, the token is renewed and the request
///   is sent again, once. If it is refused again, the caller gets the response. A refused token is not used again.
/// - **Exceptions.** `GET`, `HEAD`, `OPTIONS` and `TRACE` need no token. A request that already has the field is not
///   changed.
///
/// Add it to ``Martlet/SessionConfiguration/interceptors``. A session can have several, for several services.
public final class CSRFInterceptor: Interceptor {
  /// Returns the URL from which the token for a request is fetched; nil if the request needs none.
  public typealias TokenURL = @Sendable (HTTPRequest) async throws -> URL?

  /// The state of one call.
  private struct Progress {
    /// The URL from which the token of the attempt was fetched; nil if this interceptor added none.
    var source: URL?
    /// The token of the attempt; nil if none was available.
    var token: String?
    /// The number of fetches that had ended when the attempt was sent.
    var generation = 0
    var hasResent: Bool
  }

  private let tokenURL: TokenURL
  /// The URL for the tokens of requests that are outside the root but were refused for lack of a token.
  private let fallback: URL?
  private let options: CSRFOptions
  private let unnamed: CSRFTokens
  /// The tokens of the partitions, by name.
  private let partitions = Mutex<[String: CSRFTokens]>([:])
  private static let partitionLimit = 1024
  private let protectedPaths = CSRFProtectedPaths()
  private let progress = CallLocal(Progress(hasResent: false))

  /// Makes an interceptor with a closure that decides which requests need a token, and from which URL it is fetched.
  ///
  /// - Parameters:
  ///   - options: the protocol's details.
  ///   - tokenURL: called for every request that may change data, and for every other one whose response has a token. A
  ///     URL whose origin differs from the request's is ignored.
  public convenience init(options: CSRFOptions = .init(), tokenURL: @escaping TokenURL) {
    self.init(options: options, fallback: nil, tokenURL: tokenURL)
  }

  private init(options: CSRFOptions, fallback: URL?, tokenURL: @escaping TokenURL) {
    self.tokenURL = tokenURL
    self.fallback = fallback
    self.options = options
    unnamed = CSRFTokens(options)
  }

  /// Makes an interceptor for all requests at and below a root URL, from which their tokens are fetched.
  ///
  /// Other requests to its origin get a token when the server requires one. Their paths are remembered, so that later
  /// requests at and below them get a token from the start: the last 100 paths, each until a renewed token is refused
  /// there.
  public convenience init(root: URL, options: CSRFOptions = .init()) {
    self.init(options: options, fallback: root) { CSRFRule.covers(root, $0.url) ? root : nil }
  }

  /// Makes an interceptor for all requests to the origin of a URL, from which their tokens are fetched.
  public convenience init(tokenURL url: URL, options: CSRFOptions = .init()) {
    self.init(options: options) { Origin($0.url) == Origin(url) ? url : nil }
  }

  /// Removes all tokens, except those in the store, because the user signs out. The result of a running fetch is
  /// discarded, and the requests that wait for it fail.
  package func forget() {
    unnamed.forget()
    for tokens in partitions.withLock({ $0.values }) { tokens.forget() }
  }

  /// Returns the tokens of a request's partition. They belong to its cookies.
  private func tokens(for request: HTTPRequest) -> CSRFTokens {
    let name = request.options.partition
    guard !name.isEmpty else { return unnamed }
    return partitions.withLock { partitions in
      if let known = partitions[name] { return known }
      var options = options
      options.store = MemoryCSRFTokenStore()
      if partitions.count >= Self.partitionLimit { partitions = [:] }
      let tokens = CSRFTokens(options, partition: name)
      partitions[name] = tokens
      return tokens
    }
  }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let tokens = tokens(for: request)
    guard !tokens.isFetch(call) else { return .send(request) }
    let earlier = call[progress]
    var state = Progress(hasResent: earlier.hasResent)
    var request = request
    if CSRFRule.protects(request.method), !request.fields.contains(options.field) {
      state.source =
        try await source(of: request) ?? (protectedPaths.contains(request.url) ? fallback(for: request) : nil)
    }
    if let source = state.source {
      state.token = try await tokens.token(for: source, skipsUnprotected: request.body.isReplayable, in: call)
      request.fields[options.field] = state.token
    }
    state.generation = tokens.generation
    call[progress] = state
    return .send(request)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let tokens = tokens(for: attempt.sent)
    guard !tokens.isFetch(call), case .success(let response) = outcome else { return .accept }
    let state = call[progress]
    if CSRFRule.refuses(response.head, options), let source = state.source ?? fallbackSource(for: attempt.sent) {
      return try await renew(source, after: state, attempt, in: call)
    }
    // A token in a stored response is outdated.
    if let head = response.networkHead, let token = CSRFRule.token(in: head, field: options.field) {
      try await storeToken(token, from: response, of: attempt, state, in: call)
    } else if let source = state.source, state.token == nil, response.networkHead != nil, response.status.isSuccessful {
      tokens.markUnprotected(source)
    }
    return .accept
  }

  /// Handles a refusal: gets a new token and sends the request again.
  private func renew(
    _ source: URL, after state: Progress, _ attempt: Attempt, in call: Call
  ) async throws -> Verdict {
    let tokens = tokens(for: attempt.sent)
    guard !state.hasResent else {
      protectedPaths.remove(attempt.sent.url)
      if let token = state.token { await tokens.discard(token, of: source, in: call) }
      call.emit(.note("not sent again: the server refused the renewed CSRF token too"))
      return .accept
    }
    call[progress].hasResent = true
    let token = try await tokens.replacement(
      for: state.token, of: source, since: state.generation, in: call)
    guard token != nil else { return .accept }
    if state.source == nil { protectedPaths.insert(attempt.sent.url) }
    guard attempt.request.body.canBeSent else {
      call.emit(
        .note("not sent again with a new CSRF token: the body cannot be sent twice; use RequestBody.stream"))
      return .accept
    }
    return .resend(attempt.request, reason: "the server required a CSRF token")
  }

  /// Stores the token of a response, if it is newer than the one in use and belongs to the stored cookies.
  private func storeToken(
    _ token: String, from response: HTTPResponse, of attempt: Attempt, _ state: Progress, in call: Call
  ) async throws {
    var source = state.source
    if source == nil { source = try await self.source(of: attempt.sent) }
    guard let source, Origin(response.url) == Origin(source) else { return }
    let tokens = tokens(for: attempt.sent)
    guard !tokens.isKnown(token, for: source) else { return }
    if let session = call.session, await !session.holdsSession(of: response, to: attempt.sent) { return }
    await tokens.update(token, for: source, since: state.generation, in: call)
  }

  /// Returns the token URL for a request that was refused although this interceptor expected no token to be needed.
  private func fallbackSource(for request: HTTPRequest) -> URL? {
    guard CSRFRule.protects(request.method), !request.fields.contains(options.field) else { return nil }
    return fallback(for: request)
  }

  private func fallback(for request: HTTPRequest) -> URL? {
    fallback.flatMap { Origin($0) == Origin(request.url) ? $0 : nil }
  }

  /// Returns the token URL of a request; nil if it needs no token, or the URL has another origin.
  private func source(of request: HTTPRequest) async throws -> URL? {
    guard let url = try await tokenURL(request), let origin = Origin(url), origin == Origin(request.url) else {
      return nil
    }
    return url
  }
}

/// The paths outside the root at which a server has required a token.
private final class CSRFProtectedPaths: Sendable {
  /// A path with a slash at its end, and everything below it.
  private struct Folder {
    let origin: Origin
    let path: String

    init?(_ url: URL) {
      guard let origin = Origin(url) else { return nil }
      self.origin = origin
      path = CSRFRule.path(of: url.standardized, endsInSlash: true)
    }

    func contains(_ other: Folder) -> Bool { origin == other.origin && other.path.hasPrefix(path) }
  }

  /// The newest is last. If there are too many, the oldest is removed.
  private let folders = Mutex<[Folder]>([])
  private static let limit = 100

  /// Adds the path of a URL for which the server required a token. The query does not count.
  func insert(_ url: URL) {
    guard let folder = Folder(url) else { return }
    folders.withLock { folders in
      folders.removeAll { folder.contains($0) }
      if folders.count >= Self.limit { folders.removeFirst() }
      folders.append(folder)
    }
  }

  /// Returns whether a URL is at or below one of the paths.
  func contains(_ url: URL) -> Bool {
    folders.withLock { folders in
      guard !folders.isEmpty, let folder = Folder(url) else { return false }
      return folders.contains { $0.contains(folder) }
    }
  }

  /// Removes the path of a URL and those above it: the server refused a new token there.
  func remove(_ url: URL) {
    folders.withLock { folders in
      guard !folders.isEmpty, let folder = Folder(url) else { return }
      folders.removeAll { $0.contains(folder) }
    }
  }
}
