import MartletSemantics

/// Several interceptors that act as one. The loop runs a call's interceptors as a chain, and an interceptor can run
/// others.
package struct InterceptorChain: Interceptor {
  /// An interceptor, its position, and the functions of one that is quick. They are closures, because a copy of what is
  /// known by its protocol only takes longer than most of what they do.
  private struct Member {
    let index: Int
    let interceptor: any Interceptor
    let prepareNow: (@Sendable (inout HTTPRequest, Call) -> Bool)?
    let accepts: (@Sendable (HTTPStatus?, Attempt, Call) -> Bool)?

    init(_ interceptor: any Interceptor, at index: Int) {
      self.index = index
      self.interceptor = interceptor
      guard let quick = interceptor as? any QuickInterceptor else {
        (prepareNow, accepts) = (nil, nil)
        return
      }
      prepareNow = { request, call in quick.prepareNow(&request, in: call) }
      accepts = { status, attempt, call in quick.accepts(status, of: attempt, in: call) }
    }
  }

  package let isEmpty: Bool
  /// Those that prepare, and those that review, each in their order.
  private let preparing: [Member]
  private let reviewing: [Member]
  /// How many interceptors prepared the attempt, where one of them returned the response.
  private let preparedCount = CallLocal<Int?>(nil)

  package init(_ interceptors: [any Interceptor]) {
    isEmpty = interceptors.isEmpty
    let members = interceptors.indices.map { Member(interceptors[$0], at: $0) }
    preparing = members.filter { $0.interceptor.stages.contains(.prepare) }
    reviewing = members.reversed().filter { $0.interceptor.stages.contains(.review) }
  }

  package func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    var request = request
    call[preparedCount] = nil
    for member in preparing {
      switch try await member.interceptor.prepare(request, in: call) {
      case .send(let prepared): request = prepared
      case .respond(let response):
        call[preparedCount] = member.index + 1
        return .respond(response)
      }
    }
    return .send(request)
  }

  /// The response of an interceptor, and how many had prepared the attempt then, itself included.
  struct Answer {
    let response: HTTPResponse
    let preparedCount: Int
  }

  /// Lets interceptors prepare a request as long as that needs no `await`.
  ///
  /// - Parameter first: the position from which they do.
  /// - Returns: the position of the first that needs one; nil if none does.
  func prepareNow(_ request: inout DescribedRequest, from first: Int = 0, in call: Call) -> Int? {
    for position in first..<preparing.endIndex {
      guard let prepareNow = preparing[position].prepareNow, request.update(by: { prepareNow(&$0, call) }) else {
        return position
      }
    }
    return nil
  }

  /// Prepares a request, and replaces the fields that describe its body if an interceptor replaces the body.
  ///
  /// - Parameter first: the result of ``prepareNow(_:from:in:)``.
  /// - Returns: the response of an interceptor that returned one; nil if the request is to be sent.
  func prepare(_ request: inout DescribedRequest, from first: Int, in call: Call) async throws -> Answer? {
    var next: Int? = first
    while let position = next {
      switch try await preparing[position].interceptor.prepare(request.request, in: call) {
      case .send(let prepared): request.update(to: prepared)
      case .respond(let response): return Answer(response: response, preparedCount: preparing[position].index + 1)
      }
      next = prepareNow(&request, from: position + 1, in: call)
    }
    return nil
  }

  package func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let preparedCount = call[preparedCount]
    guard let first = acceptNow(outcome.status, of: attempt, by: preparedCount, in: call) else { return .accept }
    var current = outcome
    guard let resend = try await review(&current, of: attempt, from: first, by: preparedCount, in: call) else {
      guard case .success(let response) = current else { return .accept }
      return .replace(response)
    }
    return .resend(resend.request, after: resend.delay, reason: resend.reason)
  }

  /// Lets interceptors accept an outcome without an `await`.
  ///
  /// - Parameters:
  ///   - first: the position from which they do.
  ///   - preparedCount: how many interceptors prepared the attempt; only these review it. nil for all.
  /// - Returns: the position of the first that has to review it; nil if none has.
  func acceptNow(
    _ status: HTTPStatus?, of attempt: Attempt, from first: Int = 0, by preparedCount: Int?, in call: Call
  ) -> Int? {
    for position in first..<reviewing.endIndex where reviewing[position].index < preparedCount ?? .max {
      guard let accepts = reviewing[position].accepts, accepts(status, attempt, call) else { return position }
    }
    return nil
  }

  /// Reviews an outcome, and replaces it if an interceptor does.
  ///
  /// - Parameters:
  ///   - first: the result of ``acceptNow(_:of:from:by:in:)``.
  ///   - preparedCount: how many interceptors prepared the attempt; only these review it. nil for all.
  /// - Returns: what is sent next; nil if the outcome is accepted.
  func review(
    _ outcome: inout Outcome, of attempt: Attempt, from first: Int, by preparedCount: Int?, in call: Call
  ) async throws -> Resend? {
    var next: Int? = first
    while let position = next {
      switch try await reviewing[position].interceptor.review(outcome, of: attempt, in: call) {
      case .accept: break
      case .replace(let response): outcome = .success(response)
      case .resend(let next, let delay, let reason): return Resend(request: next, delay: delay, reason: reason)
      }
      next = acceptNow(outcome.status, of: attempt, from: position + 1, by: preparedCount, in: call)
    }
    return nil
  }

  /// The request that an interceptor returned for a resend.
  struct Resend {
    let request: HTTPRequest
    let delay: Duration
    let reason: String
  }
}
