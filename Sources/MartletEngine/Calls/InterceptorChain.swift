import MartletSemantics

/// An interceptor that can accept outcomes without `review`: to call that takes longer than all else that is done for an
/// outcome which does not concern the interceptor, as most do not.
protocol QuickInterceptor: Interceptor {
  /// Takes note of the outcome of an attempt, and returns whether it is accepted as it is.
  ///
  /// - Parameter status: that of the response; nil for an error.
  func accepts(_ status: HTTPStatus?, of attempt: Attempt, in call: Call) -> Bool
}

/// Several interceptors that act as one. The loop runs a call's interceptors as a chain, and an interceptor can run
/// others.
package struct InterceptorChain: Interceptor {
  private let interceptors: [any Interceptor]
  /// The indices of those that prepare, and of those that review, each in their order.
  private let preparing: [Int]
  private let reviewing: [(index: Int, quick: (any QuickInterceptor)?)]
  /// How many interceptors prepared the attempt, where one of them returned the response.
  private let preparedCount = CallLocal<Int?>(nil)

  package init(_ interceptors: [any Interceptor]) {
    self.interceptors = interceptors
    preparing = interceptors.indices.filter { interceptors[$0].stages.contains(.prepare) }
    reviewing = interceptors.indices.reversed().filter { interceptors[$0].stages.contains(.review) }
      .map { ($0, interceptors[$0] as? any QuickInterceptor) }
  }

  package var isEmpty: Bool { interceptors.isEmpty }

  package func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    var request = request
    call[preparedCount] = nil
    for index in preparing {
      switch try await interceptors[index].prepare(request, in: call) {
      case .send(let prepared): request = prepared
      case .respond(let response):
        call[preparedCount] = index + 1
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

  /// Prepares a request, and replaces the fields that describe its body if an interceptor replaces the body.
  ///
  /// - Returns: the response of an interceptor that returned one; nil if the request is to be sent.
  func prepare(_ request: inout DescribedRequest, in call: Call) async throws -> Answer? {
    for index in preparing {
      switch try await interceptors[index].prepare(request.request, in: call) {
      case .send(let prepared): request.update(to: prepared)
      case .respond(let response): return Answer(response: response, preparedCount: index + 1)
      }
    }
    return nil
  }

  package func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    var current = outcome
    guard let resend = try await review(&current, of: attempt, by: call[preparedCount], in: call) else {
      guard case .success(let response) = current else { return .accept }
      return .replace(response)
    }
    return .resend(resend.request, after: resend.delay, reason: resend.reason)
  }

  /// Reviews an outcome, and replaces it if an interceptor does.
  ///
  /// - Parameter preparedCount: how many interceptors prepared the attempt; only these review it. nil for all.
  /// - Returns: what is sent next; nil if the outcome is accepted.
  func review(
    _ outcome: inout Outcome, of attempt: Attempt, by preparedCount: Int? = nil, in call: Call
  ) async throws -> Resend? {
    var status = outcome.status
    for (index, quick) in reviewing where index < preparedCount ?? interceptors.count {
      if let quick, quick.accepts(status, of: attempt, in: call) { continue }
      switch try await interceptors[index].review(outcome, of: attempt, in: call) {
      case .accept: continue
      case .replace(let response):
        outcome = .success(response)
        status = response.status
      case .resend(let next, let delay, let reason): return Resend(request: next, delay: delay, reason: reason)
      }
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
