package import MartletSemantics

/// Runs credential sources: adds credentials before each attempt, and decides after a 401 whether to send the request
/// again.
///
/// A session makes one from ``SessionConfiguration/credentials``. It comes after the caller's interceptors, which may
/// set `Authorization` themselves. Retries and redirects are reviewed before it, so that the sources are called for the
/// origin to which a redirect leads.
///
/// Basic, Bearer and Digest for origins are computed here, for every transport alike: only the engine has the history
/// of a call. Negotiate (GSS-API) for origins, and all schemes for proxies, belong to a connection, and thus to the
/// transport.
///
/// User information in the URL of a request (`http://user:password@host/`) is the first source. It answers challenges
/// of that origin; it is never sent without a challenge, and never as part of the URL.
package struct AuthenticationInterceptor: QuickInterceptor {
  private let sources: [any CredentialSource]
  /// The sources that need no `await` for most requests; nil in place of the others.
  private let quick: [(any QuickCredentialSource)?]
  private let urlCredentials: URLCredentials
  private let progress = CallLocal(Progress())

  /// The state of one call. Sources are identified by their indices.
  private struct Progress: Sendable {
    /// The origin of the attempt; nil if the request is left alone.
    var origin: Origin?
    /// The source that authorized the attempt.
    var authorizer: Int?
    /// The source that has new credentials after the last 401.
    var answering: Int?
    /// The error because of which there are no new credentials after the last 401: a server could not be reached.
    var credentialsError: HTTPError?
  }

  /// Makes an interceptor that calls the sources in this order.
  package init(_ sources: [any CredentialSource]) {
    urlCredentials = URLCredentials()
    self.sources = [urlCredentials.source] + sources
    quick = self.sources.map { $0 as? any QuickCredentialSource }
  }

  package func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    var request = urlCredentials.extract(from: request, in: call)
    guard sources.count > 1 || !urlCredentials.isEmpty(in: call) else { return .send(request) }
    var progress = call[progress]
    progress.origin = request.fields.contains(.authorization) ? nil : request.origin
    progress.authorizer = nil
    if let error = progress.credentialsError.take() { request.options.credentialsError = error }
    for index in candidates(for: progress.origin, first: progress.answering, in: call)
    where request.options.credentialsError == nil {
      do { request = try await sources[index].authorize(request, in: call) } catch {
        request.options.credentialsError = try Self.credentialsError(from: error, for: request)
      }
      guard request.fields.contains(.authorization) else { continue }
      progress.authorizer = index
      break
    }
    call[self.progress] = progress
    return .send(request)
  }

  package func prepareNow(_ request: inout HTTPRequest, in call: Call) -> Bool {
    guard sources.count > 1 else {
      request = urlCredentials.extract(from: request, in: call)
      return urlCredentials.isEmpty(in: call)
    }
    var progress = call[progress]
    guard !request.reading.mayHaveUserInformation, urlCredentials.isEmpty(in: call), progress.answering == nil,
      progress.credentialsError == nil, request.options.credentialsError == nil
    else { return false }
    progress.origin = request.fields.contains(.authorization) ? nil : request.origin
    progress.authorizer = nil
    if let origin = progress.origin {
      // a source that returns true without adding anything has changed nothing
      for index in sources.indices.dropFirst() where sources[index].scope.covers(origin) {
        guard quick[index]?.authorizeNow(&request, in: call) == true else { return false }
        guard request.fields.contains(.authorization) else { continue }
        progress.authorizer = index
        break
      }
    }
    call[self.progress] = progress
    return true
  }

  package func accepts(_ status: HTTPStatus?, of attempt: Attempt, in call: Call) -> Bool {
    guard let status else { return true }
    let progress = call[progress]
    if progress.origin == nil { return true }
    return status != .unauthorized && (progress.authorizer.map { quick[$0] != nil } ?? true)
  }

  package func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let progress = call[progress]
    guard case .success(let response) = outcome, progress.origin != nil else { return .accept }
    guard response.status == .unauthorized else {
      if let index = progress.authorizer, let head = response.networkHead {
        try sources[index].didReceive(head, to: attempt.sent, in: call)
      }
      return .accept
    }
    guard let rejection = Rejection(of: attempt.sent, by: response.head) else { return .accept }
    for index in candidates(for: progress.origin, first: progress.authorizer, in: call) {
      var credentialsError: HTTPError?
      do {
        guard try await sources[index].authenticate(after: rejection, in: call) else { continue }
      } catch {
        credentialsError = try Self.credentialsError(from: error, for: attempt.request)
      }
      call[self.progress].credentialsError = credentialsError
      guard attempt.request.body.canBeSent else {
        if let credentialsError { throw credentialsError }
        return .accept
      }
      call[self.progress].answering = index
      let credentials =
        credentialsError == nil ? "new credentials" : "a stored response, because the credentials are unavailable"
      return .resend(attempt.request, reason: "\(rejection.origin) answered 401: trying \(credentials)")
    }
    return .accept
  }

  /// Returns the error that keeps a request off the network because its credentials are unavailable: a server could not
  /// be reached, or the request may only be answered from the cache anyway. Then a stored response may do, and a retry
  /// may help.
  ///
  /// - Throws: any other error, which ends the call.
  private static func credentialsError(from error: any Error, for request: HTTPRequest) throws -> HTTPError {
    var wrapped = HTTPError(wrapping: error)
    let isForCacheOnly = request.options.cachePolicy == .returnCacheDataDontLoad && !wrapped.isCancelled
    guard wrapped.isUnreachable || isForCacheOnly else { throw error }
    wrapped.delivery = .unknown
    wrapped.phase = .preparing
    return wrapped
  }

  /// The sources for an origin: in their order, but for the one that comes first.
  private func candidates(for origin: Origin?, first: Int?, in call: Call) -> [Int] {
    guard let origin else { return [] }
    let candidates = sources.indices.filter { index in
      index == 0 ? urlCredentials.contains(origin, in: call) : sources[index].scope.covers(origin)
    }
    guard let first, candidates.contains(first) else { return candidates }
    return [first] + candidates.filter { $0 != first }
  }
}

/// The user information of URLs, `http://user:password@host/`: credentials for the URL's origin, for the duration of a
/// call. They answer challenges, and are not sent as part of the URL (RFC 9110 §4.2.4).
private struct URLCredentials: Sendable {
  let source: PasswordSource
  private let credentials: CallLocal<[Origin: Credential]>

  init() {
    let credentials = CallLocal<[Origin: Credential]>([:])
    self.credentials = credentials
    source = PasswordSource(ofCalls: credentials)
  }

  /// Removes the user information from the request's URL, and stores it for the call: it is also used after a redirect
  /// to the same origin.
  func extract(from request: HTTPRequest, in call: Call) -> HTTPRequest {
    guard request.reading.mayHaveUserInformation, request.origin != nil,
      let user = request.url.user(percentEncoded: false),
      var parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
    else { return request }
    let password = request.url.password(percentEncoded: false) ?? ""
    parts.percentEncodedUser = nil
    parts.percentEncodedPassword = nil
    guard let url = parts.url, let origin = Origin(url) else { return request }
    if !user.isEmpty || !password.isEmpty {
      call[credentials][origin] = Credential(user: user, password: password)
    }
    var request = request
    request.url = url
    return request
  }

  func isEmpty(in call: Call) -> Bool { call[credentials].isEmpty }

  func contains(_ origin: Origin, in call: Call) -> Bool { call[credentials][origin] != nil }
}
