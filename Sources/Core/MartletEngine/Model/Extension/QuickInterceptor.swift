package import MartletSemantics

/// An interceptor that can do without `prepare` and `review` in most attempts: to call them takes longer than all else that
/// is done for an attempt which does not concern the interceptor.
package protocol QuickInterceptor: Interceptor {
  /// Prepares the request, and returns true; or returns false, with nothing changed, if `prepare` has to be called.
  func prepareNow(_ request: inout HTTPRequest, in call: Call) -> Bool

  /// Takes note of the outcome of an attempt, and returns whether it is accepted as it is.
  ///
  /// - Parameter status: that of the response; nil for an error.
  func accepts(_ status: HTTPStatus?, of attempt: Attempt, in call: Call) -> Bool
}

extension QuickInterceptor {
  package func prepareNow(_ request: inout HTTPRequest, in call: Call) -> Bool { false }

  package func accepts(_ status: HTTPStatus?, of attempt: Attempt, in call: Call) -> Bool { false }
}
