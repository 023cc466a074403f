import MartletSemantics

extension Call {
  private static let lastMisdirected = CallLocal(0)

  /// Notes that the connection of this attempt is the wrong one for its origin (421, RFC 9110 §15.5.20), and that
  /// another one may be the right one. A transport that can open a connection for the next attempt alone says so.
  package func noteMisdirection() { self[Self.lastMisdirected] = currentAttempt }

  /// Whether the transport noted a misdirection in this attempt.
  func isMisdirected(in attempt: Int) -> Bool { self[Self.lastMisdirected] == attempt }

  /// Whether this attempt needs a connection of its own, because the one before it had the wrong one.
  package var needsNewConnection: Bool { currentAttempt > 1 && isMisdirected(in: currentAttempt - 1) }
}

/// Sends a request that was misdirected once more, over a new connection that is opened for its origin (RFC 9110
/// §15.5.20). The method does not matter, because the server has not acted on the request.
///
/// It is neither a retry nor limited by the retry budget. It happens once in a call, and only if the transport says
/// that it can open such a connection.
enum Misdirection {
  /// Returns the verdict on a response with 421; nil if nothing can be done about it.
  static func verdict(on attempt: Attempt, in call: Call) -> Verdict? {
    guard call.isMisdirected(in: attempt.number), attempt.request.options.retryPolicy.replacesStaleConnections,
      !attempt.history.contains(where: { $0.response?.status == .misdirectedRequest })
    else { return nil }
    if let runner = call.runner, attempt.number >= runner.attemptLimit {
      call.emit(.note("\(notSent): the call has reached the session's attemptLimit"))
      return nil
    }
    guard attempt.request.body.canBeSent else {
      call.emit(.note("\(notSent): the body cannot be sent twice; use RequestBody.stream"))
      return nil
    }
    return .resend(
      attempt.request, reason: "421: the connection does not serve this origin, sent again over a new one")
  }

  private static let notSent = "the request is not sent again after status 421"
}
