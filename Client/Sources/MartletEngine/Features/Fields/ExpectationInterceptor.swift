@_spi(Toolkit) import MartletSemantics

/// Announces long and single-use bodies with `Expect: 100-continue`, if ``RequestOptions/continueTimeout`` is set, and
/// sends the request again without it if the server refuses it with 417 (RFC 9110 §10.1.1).
///
/// The transport then waits for a 100 before it sends the body. A single-use stream cannot be sent again once the
/// transport has begun to send it: then the 417 is the response. The same holds if the caller set `Expect`.
struct ExpectationInterceptor: ImmediateInterceptor {
  func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>? {
    if request.options.continueTimeout != nil, !request.fields.contains(.expect), request.body.deservesExpectation {
      request.fields[.expect] = "100-continue"
    }
    return nil
  }

  func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<Verdict>? {
    guard outcome.status == .expectationFailed, attempt.request.options.continueTimeout != nil,
      !attempt.request.fields.contains(.expect), attempt.sent.fields.contains(.expect), attempt.request.body.canBeSent
    else { return nil }
    var next = attempt.request
    next.options.continueTimeout = nil
    return { [next] in .resend(next, reason: "417: the server refused Expect") }
  }
}

extension RequestBody {
  /// Whether asking before the body is sent is worth a round trip: the body has more than 1 MiB or an unknown length,
  /// or can be sent only once.
  fileprivate var deservesExpectation: Bool {
    guard !isEmpty else { return false }
    return estimatedLength.map { $0 > 1 << 20 } ?? true || !isReplayable
  }
}

extension HTTPRequest {
  /// Whether the body, if there is one, waits for a 100 response or for the end of ``RequestOptions/continueTimeout``.
  package var expectsContinue: Bool {
    fields[.expect].map { ASCII.equalIgnoringCase($0, "100-continue") } ?? false
  }
}
