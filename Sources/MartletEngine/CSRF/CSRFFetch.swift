import MartletSemantics

/// Asks a server for the token of a URL, until it is one that belongs to the cookies in the session's jar.
struct CSRFFetch {
  let url: URL
  let field: FieldName
  let session: HTTPSession
  /// The exchange that needs the token.
  let exchange: Exchange

  /// How often one question is asked while responses of other sessions change the cookies meanwhile. The second time nearly always
  /// is the last, because the values in the jar belong to a token from the first on (see ``CookieJar/holdsSession(of:in:)``):
  /// only their own session changes them then, or a login.
  private static let limit = 4

  private enum Answer {
    case token(String)
    case none
    /// There is none before the user has signed in.
    case unauthorized
  }

  /// The token; nil if there is none to be had.
  func token() async -> String? {
    search: for question in CSRFRule.questions(for: url) {
      do throws(HTTPError) {
        switch try await answer(to: question.method, question.url) {
        case .token(let token): return token
        case .none: continue
        case .unauthorized: break search
        }
      } catch {
        exchange.emit(.note("the CSRF token could not be fetched: \(error.message)"))
        return nil
      }
    }
    exchange.emit(.note("\(url.redacted) gives no CSRF token"))
    return nil
  }

  private func answer(to method: HTTPMethod, _ url: URL) async throws(HTTPError) -> Answer {
    var request = HTTPRequest(method, url, fields: [field: "Fetch"])
    request.options.cachePolicy = .reloadIgnoringCacheData
    var answer = Answer.none
    for _ in 0..<Self.limit {
      let (body, response) = try await session.bytes(for: request)
      body.cancel()
      // a token that another origin gives, after a redirect to a logon page say, is not for this one
      guard Origin(response.url) == Origin(url) else { return .none }
      guard let token = CSRFRule.token(in: response.head, field: field) else {
        return response.status == .unauthorized ? .unauthorized : .none
      }
      answer = .token(token)
      if await session.holdsSession(of: response, to: request) { break }
    }
    return answer
  }
}

extension HTTPSession {
  /// Whether the session of a response that brought a CSRF token is that of the jar's cookies; true where cookies play no part.
  func holdsSession(of response: HTTPResponse, to request: HTTPRequest) async -> Bool {
    let options = options(of: request)
    guard let jar = configuration.cookies, options.handlesCookies else { return true }
    var context = options.cookieContext
    context.method = request.method
    return await jar.holdsSession(of: response, in: context)
  }
}
