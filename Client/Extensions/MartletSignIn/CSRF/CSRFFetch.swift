@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Credentials) @_spi(Toolkit) import MartletSemantics

/// Fetches the token of a URL, again if necessary, until it belongs to the cookies in the session's jar.
struct CSRFFetch {
  let url: URL
  let field: FieldName
  let partition: String
  let session: HTTPSession
  /// The call that needs the token.
  let call: Call

  /// The maximum number of times a request is sent while responses of other sessions replace the cookies. Twice is
  /// nearly always enough: from the first response on, the cookies in the jar belong to a token (see
  /// ``Martlet/CookieJar/holdsSession(of:in:)``), and only their own session or a login replaces them.
  private static let attemptLimit = 4

  private enum Answer {
    case token(String)
    /// The status of a response without a token.
    case none(HTTPStatus)
    /// The response came from another origin, for example from a login page.
    case foreign
  }

  /// Why there is no token.
  enum Failure {
    /// The server could not be reached, or failed.
    case transient
    /// The server may return a token after a login.
    case login
    /// The server will not return a token soon.
    case noToken
  }

  /// Returns the token, or why there is none.
  func token() async -> (token: String?, failure: Failure?) {
    var requests = CSRFRule.fetchRequests(for: url)[...]
    var failure = Failure.noToken
    while let request = requests.popFirst() {
      do throws(HTTPError) {
        switch try await answer(to: request.method, request.url) {
        case .token(let token): return (token, nil)
        case .foreign:
          failure = .login
          if request.method == .get { requests = [] }
        case .none(let status):
          failure =
            RenewalFailure(status) == .temporary ? .transient : CSRFRule.isFinal(status) ? .noToken : .login
          if CSRFRule.endsSearch(status, after: request.method, isOtherForm: request.url != url) { requests = [] }
        }
      } catch {
        call.emit(.note("the CSRF token could not be fetched by \(request.method): \(error.message)"))
        // Some servers and firewalls end the connection instead of answering HEAD.
        guard CSRFRule.triesGET(after: error, of: request.method) else { return (nil, .transient) }
        failure = .transient
      }
    }
    call.emit(.note("\(url.redacted) returned no CSRF token"))
    return (nil, failure)
  }

  private func answer(to method: HTTPMethod, _ url: URL) async throws(HTTPError) -> Answer {
    var request = HTTPRequest(method, url, fields: [field: "Fetch"])
    request.options.cachePolicy = .reloadIgnoringCacheData
    request.options.partition = partition
    request.options.expecting = .any
    var answer = Answer.foreign
    for _ in 0..<Self.attemptLimit {
      let (body, response) = try await session.bytes(for: request)
      body.cancel()
      // After a redirect, for example to a login page, the token of another origin is not valid for this one.
      guard Origin(response.url) == Origin(url) else { return .foreign }
      guard let token = CSRFRule.token(in: response.head, field: field) else { return .none(response.status) }
      answer = .token(token)
      if await session.holdsSession(of: response, to: request) { break }
    }
    return answer
  }
}

extension HTTPSession {
  /// Whether a response with a CSRF token belongs to the same server session as the cookies in the jar; true if the
  /// request does not use cookies.
  func holdsSession(of response: HTTPResponse, to request: HTTPRequest) async -> Bool {
    let request = resolving(request)
    guard let jar = configuration.cookies, request.options.handlesCookies else { return true }
    var context = request.options.cookieContext
    context.method = request.method
    return await jar.partition(request.options.partition).holdsSession(of: response, in: context)
  }
}
