@_spi(Toolkit) import MartletSemantics

/// Runs credential sources: adds credentials before each attempt, and decides after a 401 whether to send the request
/// again.
///
/// A session makes one from ``SessionConfiguration/credentials``. It runs after the caller's interceptors, which may
/// set `Authorization` themselves. Retries and redirects are reviewed before it, so sources are called for the origin
/// that a redirect leads to.
///
/// The engine authenticates to origins, whatever the transport, because only the engine knows the history of a call.
/// Authentication to a proxy belongs to a connection, so the transport does it.
///
/// User information in the URL of a request (`http://user:password@host/`) is the first source. It answers challenges
/// of that origin; it is never sent without a challenge, and never as part of the URL. Before a challenge, other
/// sources are not asked for that origin, except a ``PasswordSource`` for the password of that very user. If it knows
/// one that does not contradict the URL, it takes the place of the URL.
@_spi(Credentials) public struct AuthenticationInterceptor: ImmediateInterceptor {
  private let sources: [any CredentialSource]
  /// The sources that need no `await` for most requests; nil in place of the others.
  private let immediate: [(any ImmediateCredentialSource)?]
  private let states = CallLocal(CallState())

  /// The state of one call. Sources are identified by their indices.
  private struct CallState: Sendable {
    /// The origin of the attempt; nil if the request is left alone.
    var origin: Origin?
    /// The source that authorized the attempt.
    var authorizer: Int?
    /// The source that has new credentials after the last 401.
    var answering: Int?
    /// Why the next attempt lacks its credentials: after the last 401, a server could not be reached for new ones.
    var failure: HTTPError?
  }

  /// Makes an interceptor that calls the sources in this order.
  public init(_ sources: [any CredentialSource]) {
    self.sources = [PasswordSource.ofURLs()] + sources
    immediate = self.sources.map { $0 as? any ImmediateCredentialSource }
  }

  @_spi(Toolkit) public func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>?
  {
    request = URLCredentials.extract(from: request, in: call)
    guard sources.count > 1 || !call[URLCredentials.ofCall].isEmpty else { return nil }
    var state = call[states]
    let isLeftAlone = request.fields.contains(.authorization) || !request.options.usesCredentials
    state.origin = isLeftAlone ? nil : request.origin
    state.authorizer = nil
    if let failure = state.failure.take() { call.missingCredentials = failure }
    let isMissing = call.missingCredentials != nil  // This interceptor or one before it has found that.
    let candidates = isMissing ? [] : candidates(for: state.origin, first: state.answering, in: call)
    return askNext(of: allowed(candidates, in: state, call)[...], to: &request, state, in: call)
  }

  /// Asks the sources one after another until one of them authorizes the request. If the next one has to be awaited,
  /// returns the rest, which awaits it and asks the sources after it.
  private func askNext(
    of candidates: ArraySlice<Int>, to request: inout HTTPRequest, _ state: CallState, in call: Call
  ) -> Unfinished<Preparation>? {
    guard let index = candidates.first else {
      call[states] = state
      return nil
    }
    guard let rest = authorize(&request, by: index, in: call) else {
      return finish(after: candidates, of: &request, state, in: call)
    }
    return { [request] in
      var request = request
      do { request = try await rest() } catch {
        call.missingCredentials = try Self.unavailability(of: request, after: error)
        call[states] = state
        return .send(request)
      }
      return try await finish(after: candidates, of: &request, state, in: call)?() ?? .send(request)
    }
  }

  /// Continues after the first of the sources was asked: notes it if it has authorized the request, otherwise asks the
  /// next one.
  private func finish(
    after candidates: ArraySlice<Int>, of request: inout HTTPRequest, _ before: CallState, in call: Call
  ) -> Unfinished<Preparation>? {
    guard request.fields.contains(.authorization) else {
      return askNext(of: candidates.dropFirst(), to: &request, before, in: call)
    }
    var state = before
    state.authorizer = candidates.first
    call[states] = state
    return nil
  }

  private func authorize(_ request: inout HTTPRequest, by index: Int, in call: Call) -> Unfinished<HTTPRequest>? {
    if let source = immediate[index] { return source.authorizeImmediately(&request, in: call) }
    return { [request] in try await sources[index].authorize(request, in: call) }
  }

  @_spi(Toolkit) public func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<
    Verdict
  >? {
    guard let status = outcome.status else { return nil }
    let state = call[states]
    guard state.origin != nil, case .success(let response) = outcome else { return nil }
    guard status != .unauthorized else { return { try await verdict(on: response, of: attempt, in: call) } }
    guard let index = state.authorizer, let head = response.networkHead else { return nil }
    do {
      try sources[index].didReceive(head, to: attempt.sent, in: call)
      return nil
    } catch { return { throw error } }
  }

  /// Lets the sources answer a 401, first the one that authorized the request.
  private func verdict(on response: HTTPResponse, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let state = call[states]
    guard let rejection = Rejection(of: attempt.sent, by: response.head) else { return .accept }
    for index in candidates(for: state.origin, first: state.authorizer, in: call) {
      var failure: HTTPError?
      do {
        guard try await sources[index].authenticate(after: rejection, in: call) else { continue }
      } catch {
        failure = try Self.unavailability(of: attempt.request, after: error)
      }
      call[states].failure = failure
      guard attempt.request.body.canBeSent else {
        if let failure { throw failure }
        return .accept
      }
      call[states].answering = index
      let credentials =
        failure == nil ? "new credentials" : "a stored response, because the credentials are unavailable"
      return .resend(attempt.request, reason: "\(rejection.origin) answered 401: trying \(credentials)")
    }
    return .accept
  }

  /// Returns the error that keeps a request off the network because its credentials are unavailable: a server could not
  /// be reached, or the request may only be answered from the cache anyway. A stored response may still answer it, and
  /// a retry may help.
  ///
  /// - Throws: any other error, which ends the call.
  private static func unavailability(of request: HTTPRequest, after error: any Error) throws -> HTTPError {
    var wrapped = HTTPError(wrapping: error)
    let isForCacheOnly = request.options.cachePolicy == .returnCacheDataDontLoad && !wrapped.isCancelled
    guard wrapped.isUnreachable || isForCacheOnly else { throw error }
    wrapped.delivery = .unknown
    wrapped.phase = .preparing
    return wrapped
  }

  /// The sources for an origin in their order, with one source moved to the front. If the URL names a user, the sources
  /// that know that user's password precede the others, in place of the URL itself.
  private func candidates(for origin: Origin?, first: Int?, in call: Call) -> [Int] {
    guard let origin else { return [] }
    var candidates = sources.indices.dropFirst().filter { sources[$0].scope.covers(origin) }
    if call[URLCredentials.ofCall][origin] != nil {
      let knowing = candidates.filter { index in
        (sources[index] as? PasswordSource)?.knowsNamedUser(at: origin, in: call) ?? false
      }
      candidates = (knowing.isEmpty ? [0] : knowing) + candidates.filter { !knowing.contains($0) }
    }
    guard let first, candidates.contains(first) else { return candidates }
    return [first] + candidates.filter { $0 != first }
  }

  /// The candidates that may authorize a request. If the URL names a user, only a source that has answered a challenge
  /// of the call may act as another user; a ``PasswordSource`` compares the user.
  private func allowed(_ candidates: [Int], in state: CallState, _ call: Call) -> [Int] {
    guard let origin = state.origin, call[URLCredentials.ofCall][origin] != nil else { return candidates }
    return candidates.filter { $0 == state.answering || sources[$0] is PasswordSource }
  }
}

extension Call {
  private static let missingCredentials = CallLocal<HTTPError?>(nil)

  /// Why the current attempt lacks its credentials: a server could not be reached for them. Such a request must not use
  /// the network: a stored response that is the same for all users may answer it; otherwise it fails with this error,
  /// and a retry may help. nil, as for most attempts, if nothing is missing. ``AttemptLoop`` forgets it before each
  /// attempt; several interceptors may set it.
  var missingCredentials: HTTPError? {
    get { self[Self.missingCredentials] }
    set { if newValue != nil || missingCredentials != nil { self[Self.missingCredentials] = newValue } }
  }
}

/// The user information of URLs, `http://user:password@host/`: credentials for the URL's origin during a call. They
/// answer challenges and are never sent as part of the URL (RFC 9110 §4.2.4).
enum URLCredentials {
  /// What the URLs of a call had, by their origins.
  static let ofCall = CallLocal<[Origin: UserInformation]>([:])

  /// Removes the user information from the request's URL, and stores it for the call: it is also used after a redirect
  /// to the same origin.
  static func extract(from request: HTTPRequest, in call: Call) -> HTTPRequest {
    guard request.reading.mayHaveUserInformation, request.origin != nil, request.url.user() != nil,
      let url = request.url.withoutUserInformation, let origin = Origin(url)
    else { return request }
    if let information = UserInformation(of: request.url) { call[ofCall][origin] = information }
    var request = request
    request.url = url
    return request
  }
}
