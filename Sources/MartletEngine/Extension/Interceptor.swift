/// Changes what goes out, and decides whether the result is good enough or the request goes again.
///
/// ```swift
/// struct RequestTag: Interceptor {
///   func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
///     var request = request
///     request.fields["X-Request-Id"] = "\(exchange.id)"
///     return request
///   }
/// }
/// ```
///
/// `prepare` runs before every attempt, in the order of registration, each seeing what those before it made. It sees the fields
/// that describe the body (`Content-Type`); if it gives the request another body, the fields of the new one take the place of
/// the old one's, unless the caller or an interceptor has set its own. `review` runs after every attempt, in reverse. Both start
/// from the request as it was asked for: a redirect or a resend never carries what an interceptor put on an earlier attempt, so
/// that a header meant for one origin cannot leak to the next.
public protocol Interceptor: Sendable {
  /// Returns the request that is to go out. Throwing ends the exchange.
  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest

  /// Judges the outcome of an attempt. Throwing ends the exchange.
  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict
}

extension Interceptor {
  /// Lets the request pass as it is.
  public func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest { request }

  /// Accepts the outcome.
  public func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    .accept
  }
}

/// What came of an attempt: a response with its body unread, or the reason why there is none.
public typealias Outcome = Result<HTTPResponse, any Error>

/// One attempt, as an interceptor reviews it.
public struct Attempt: Sendable {
  /// 1 for the first.
  public let number: Int
  /// The request before any interceptor prepared it: what a resend starts from.
  public let request: HTTPRequest
  /// The request as it went out, with all that the interceptors added.
  public let sent: HTTPRequest
  /// The attempts of this exchange before this one.
  public let history: [AttemptRecord]

  package init(number: Int, request: HTTPRequest, sent: HTTPRequest, history: [AttemptRecord]) {
    self.number = number
    self.request = request
    self.sent = sent
    self.history = history
  }
}

/// What an interceptor says of an outcome.
public enum Verdict: Sendable {
  /// Fine as it is; the next interceptor reviews it.
  case accept
  /// Goes on with this response; the next interceptor reviews it.
  case replace(HTTPResponse)
  /// Ends the round: the response's body is dropped, and this request is sent after the delay.
  ///
  /// It passes through every interceptor's `prepare` again, and counts against the budget that redirects, retries and
  /// all other resends of an exchange share. The reason is for people: it appears in events and errors.
  case resend(HTTPRequest, after: Duration = .zero, reason: String)
}
