/// The interceptors of a call, in their order.
struct InterceptorChain: Sendable {
  /// An interceptor and its position. It is called through closures, because copying an existential takes longer than
  /// most interceptors do. Only an ``ImmediateInterceptor`` may finish at once; any other is awaited.
  private struct Member {
    let index: Int
    let stages: InterceptorStages
    let prepareImmediately: @Sendable (inout DescribedRequest, Call) throws -> Unfinished<Preparation>?
    let reviewImmediately: @Sendable (Outcome, Attempt, Call) -> Unfinished<Verdict>?

    init(_ interceptor: any Interceptor, at index: Int) {
      self.index = index
      stages = interceptor.stages
      guard let interceptor = interceptor as? any ImmediateInterceptor else {
        prepareImmediately = { described, call in
          let request = described.request
          return { try await interceptor.prepare(request, in: call) }
        }
        reviewImmediately = { outcome, attempt, call in { try await interceptor.review(outcome, of: attempt, in: call) }
        }
        return
      }
      prepareImmediately = { request, call in try request.update { try interceptor.prepareImmediately(&$0, in: call) } }
      reviewImmediately = { outcome, attempt, call in interceptor.reviewImmediately(outcome, of: attempt, in: call) }
    }
  }

  /// The interceptors of each stage, in the order in which they run.
  private let preparing: [Member]
  private let reviewing: [Member]

  init(_ interceptors: [any Interceptor]) {
    let members = interceptors.indices.map { Member(interceptors[$0], at: $0) }
    preparing = members.filter { $0.stages.contains(.prepare) }
    reviewing = members.reversed().filter { $0.stages.contains(.review) }
  }

  /// The part of a stage that the interceptor at a position could not finish at once. It has to be awaited before the
  /// next interceptor is called.
  struct Pending<Value> {
    let chain: InterceptorChain
    let position: Int
    let rest: Unfinished<Value>
    /// How many interceptors prepared the attempt: only these review it.
    var preparedCount = Int.max
  }

  /// A response that an interceptor returned in `prepare`, and how many interceptors had prepared the attempt by then,
  /// including that one.
  struct Answer {
    let response: HTTPResponse
    let preparedCount: Int
  }

  /// Lets interceptors prepare a request, and replaces the fields that describe its body if one of them replaces the
  /// body.
  ///
  /// - Returns: the response if an interceptor returned one; nil if the request has to be sent.
  @inline(__always)  // Most requests have nothing to await.
  func prepare(_ request: inout DescribedRequest, in call: Call) async throws -> Answer? {
    guard let first = try prepareImmediately(&request, from: 0, in: call) else { return nil }
    return try await prepare(&request, after: first, in: call)
  }

  /// Lets interceptors prepare a request until one of them has to be awaited.
  private func prepareImmediately(
    _ request: inout DescribedRequest, from first: Int, in call: Call
  ) throws -> Pending<Preparation>? {
    for position in first..<preparing.endIndex {
      if let rest = try preparing[position].prepareImmediately(&request, call) {
        return Pending(chain: self, position: position, rest: rest)
      }
    }
    return nil
  }

  @inline(never)  // Its variables would take space in the frame of `AttemptLoop.run`.
  private func prepare(
    _ request: inout DescribedRequest, after first: Pending<Preparation>, in call: Call
  ) async throws -> Answer? {
    var pending: Pending? = first
    while let current = pending {
      switch try await call.withinDeadline(current.rest) {
      case .send(let prepared): request.update { $0 = prepared }
      case .respond(let response):
        return Answer(response: response, preparedCount: preparing[current.position].index + 1)
      }
      pending = try prepareImmediately(&request, from: current.position + 1, in: call)
    }
    return nil
  }

  /// Lets interceptors review an outcome until one of them has to be awaited.
  ///
  /// - Parameter preparedCount: how many interceptors prepared the attempt; only these review it.
  func reviewImmediately(
    _ outcome: Outcome, of attempt: Attempt, from first: Int = 0, by preparedCount: Int, in call: Call
  ) -> Pending<Verdict>? {
    for position in first..<reviewing.endIndex where reviewing[position].index < preparedCount {
      if let rest = reviewing[position].reviewImmediately(outcome, attempt, call) {
        return Pending(chain: self, position: position, rest: rest, preparedCount: preparedCount)
      }
    }
    return nil
  }

  /// The request that an interceptor returned for a resend.
  struct Resend {
    let request: HTTPRequest
    let delay: Duration
    let reason: String
    /// The error of the attempt that is repeated; nil if it had a response.
    let failure: HTTPError?
  }

  /// Continues the reviews, and replaces the outcome if an interceptor does.
  ///
  /// - Parameter first: the result of ``reviewImmediately(_:of:from:by:in:)``.
  /// - Returns: the next request to send; nil if the outcome is accepted.
  func review(
    _ outcome: inout Outcome, of attempt: Attempt, after first: Pending<Verdict>, in call: Call
  ) async throws -> Resend? {
    var pending: Pending? = first
    while let current = pending {
      switch try await call.withinDeadline(current.rest) {
      case .accept: break
      case .replace(let response): outcome.replace(with: response)
      case .resend(let next, let delay, let reason):
        return Resend(request: next, delay: delay, reason: reason, failure: outcome.error)
      }
      pending = reviewImmediately(outcome, of: attempt, from: current.position + 1, by: first.preparedCount, in: call)
    }
    return nil
  }
}

extension Outcome {
  /// Replaces the outcome. Cancels the old body if the new one is in memory, and therefore cannot read from the old
  /// one. Any other new body may be the old one, or wrap it in a type of the caller's.
  fileprivate mutating func replace(with response: HTTPResponse) {
    if response.body.source is DataSource, case .success(let replaced) = self { replaced.body.cancel() }
    self = .success(response)
  }
}
