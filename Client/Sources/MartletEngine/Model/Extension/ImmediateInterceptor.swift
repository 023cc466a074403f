/// An interceptor that does as much of each stage as it can immediately, and returns the rest.
///
/// The chain calls `prepareImmediately` and `reviewImmediately` in place of `prepare` and `review`, whose default
/// implementations use them. Most interceptors have nothing to do in most attempts, and an asynchronous call would cost
/// more than that check.
@_spi(Toolkit) public protocol ImmediateInterceptor: Interceptor {
  /// Prepares the request. Returns the rest of the stage, which has to be awaited; nil if there is none.
  func prepareImmediately(_ request: inout HTTPRequest, in call: Call) throws -> Unfinished<Preparation>?

  /// Reviews an outcome. Returns the rest, which produces the verdict or an error; nil if the outcome is accepted.
  func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<Verdict>?
}

extension ImmediateInterceptor {
  @_spi(Toolkit) public func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>?
  {
    nil
  }

  @_spi(Toolkit) public func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<
    Verdict
  >? { nil }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    var request = request
    return try await prepareImmediately(&request, in: call)?() ?? .send(request)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    try await reviewImmediately(outcome, of: attempt, in: call)?() ?? .accept
  }
}
