@_spi(Toolkit) public import MartletSemantics

extension Event {
  /// An action of a limit.
  @nonexhaustive public enum Limit: Sendable, Hashable {
    /// The request waits because the origin has as many as ``ConcurrencyLimit`` allows; `ahead` requests wait before
    /// it.
    case queued(Origin, ahead: Int)
    /// The request waits for this time because of a ``RateLimit``.
    case throttled(Origin, for: Duration)
    /// The origin wants no more requests for this time; later requests wait for its end.
    case paused(Origin, for: Duration)
    /// The circuit of the origin changed its state because of this request.
    case circuit(Origin, CircuitState)
    /// A second request was sent because the first had no answer after this time; `secondWon` says whether the second
    /// was answered first.
    case hedged(Origin, after: Duration, secondWon: Bool)
  }
}

extension Event.Limit: CustomStringConvertible {
  public var description: String {
    switch self {
    case .queued(let origin, let ahead): "\(origin): waits for one of the requests in progress, behind \(ahead) others"
    case .throttled(let origin, let time): "\(origin): waits \(Quantity.text(time)) because of the rate limit"
    case .paused(let origin, let time): "\(origin): the server wants no requests for \(Quantity.text(time))"
    case .circuit(let origin, let state): "\(origin): the circuit is \(state.rawValue)"
    case .hedged(let origin, let time, let secondWon):
      "\(origin): no response within \(Quantity.text(time)), a second request was sent; "
        + "the \(secondWon ? "second" : "first") answered"
    }
  }
}
