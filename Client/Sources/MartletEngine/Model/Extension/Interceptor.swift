import MartletSemantics

/// Changes requests before they are sent, and decides whether a response is accepted or the request is sent again.
///
/// ```swift
/// struct RequestTag: Interceptor {
///   func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
///     var request = request
///     request.fields["X-Request-Id"] = "\(call.id)"
///     return .send(request)
///   }
/// }
/// ```
///
/// `prepare` runs before every attempt, in the order of the interceptors: each gets the request that the previous one
/// returned. The request has the fields that describe its body (`Content-Type`). If an interceptor replaces the body,
/// the new body's fields replace them, unless the caller or an interceptor has set them. `review` runs after every
/// attempt, in reverse order. Each attempt starts from the caller's request. What interceptors added to an earlier
/// attempt is not carried over to a redirect or a resend, so a field meant for one origin is not sent to another.
public protocol Interceptor: Sendable {
  /// The stages of an attempt in which the interceptor takes part; all by default. It is not called in other stages,
  /// which saves time in every request. The property is read once, when the chain is made.
  var stages: InterceptorStages { get }

  /// Returns the request to send, or a response in place of sending it. An error ends the call.
  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation

  /// Reviews the outcome of an attempt. An error ends the call.
  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict
}

/// The stages of an attempt in which an ``Interceptor`` can take part.
public struct InterceptorStages: OptionSet, Sendable {
  /// The number whose bits are the stages.
  public let rawValue: Int

  /// Makes a set of stages from its number.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// ``Interceptor/prepare(_:in:)``.
  public static let prepare = InterceptorStages(rawValue: 1)
  /// ``Interceptor/review(_:of:in:)``.
  public static let review = InterceptorStages(rawValue: 2)
  /// All stages.
  public static let all: InterceptorStages = [.prepare, .review]
}

extension Interceptor {
  /// All stages.
  public var stages: InterceptorStages { .all }

  /// Returns the request unchanged.
  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation { .send(request) }

  /// Accepts the outcome.
  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    .accept
  }
}

/// The result of an interceptor's `prepare`.
@nonexhaustive public enum Preparation: Sendable {
  /// Passes this request to the next interceptor. After the last one it gets its cookies, and the cache or the network
  /// answers it.
  case send(HTTPRequest)
  /// Uses this response for the attempt. Nothing is sent, and cookies and cache are not used. The following
  /// interceptors neither prepare nor review the attempt. They include the engine's own, so a redirect or a 401 in the
  /// response is not followed or answered.
  case respond(HTTPResponse)
}

/// The outcome of an attempt: a response whose body has not been read, or an error. An error from outside this package
/// is wrapped, and is in ``HTTPError/underlying``.
public typealias Outcome = Result<HTTPResponse, HTTPError>

extension Outcome {
  /// The status of the response; nil for an error. Most reviews need only the status, and reading it does not copy the
  /// response.
  var status: HTTPStatus? {
    switch self {
    case .success(let response): response.status
    case .failure: nil
    }
  }
}

/// An attempt of a call: one request that was sent, or answered without being sent.
public struct Attempt: Sendable {
  /// The number of the attempt, from 1.
  public let number: Int
  /// The request before the interceptors prepared it: for a resend, change and return this one.
  public let request: HTTPRequest
  /// The request that was sent, with all additions of the interceptors.
  public let sent: HTTPRequest
  /// The earlier attempts of the call.
  public let history: [AttemptRecord]

  package init(number: Int, request: HTTPRequest, sent: HTTPRequest, history: [AttemptRecord]) {
    self.number = number
    self.request = request
    self.sent = sent
    self.history = history
  }
}

/// The result of an interceptor's `review`.
@nonexhaustive public enum Verdict: Sendable {
  /// Accepts the outcome; the next interceptor reviews it.
  case accept
  /// Replaces the outcome with this response; the next interceptor reviews it.
  ///
  /// ```swift
  /// func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
  ///   guard case .success(let response) = outcome, response.status == .notFound else { return .accept }
  ///   return .replace(HTTPResponse(body: ResponseBody(Data("[]".utf8)), url: response.url))
  /// }
  /// ```
  ///
  /// If the bytes of the new body are in memory, as here, the old body is cancelled. Any other new body may read from
  /// the old one, so the old one is not cancelled, and its transfer ends when nothing refers to it any more. To end the
  /// transfer at once, call ``ResponseBody/cancel()`` of an old body that is not needed.
  case replace(HTTPResponse)
  /// Discards the outcome, and sends this request after the delay.
  ///
  /// All interceptors prepare the request again. The resend counts towards ``SessionConfiguration/attemptLimit``, like
  /// redirects and retries. The reason is human-readable: it appears in events and errors.
  case resend(HTTPRequest, after: Duration = .zero, reason: String)
}
