import MartletSemantics

/// A cache store whose processes send identical requests once. Implement it for a store that several processes share.
///
/// Within a process, an ``HTTPCache`` sends one of several identical requests, and the others wait for its response.
/// With this protocol, the process asks the other processes before it sends that request: when no stored response can
/// answer it, or when one has to be validated. It then looks up the stored responses again, in case one was stored in
/// between.
///
/// A lease saves requests, but guarantees nothing: when the store fails or a wait takes too long, the request is sent.
/// A store that throws counts as one without information.
@_spi(Fleet) public protocol SharedFlights: CacheStore {
  /// Asks whether this process has to send a request. While the answer is to wait, it is asked again after a moment.
  ///
  /// - Parameter name: a digest of the properties that make requests identical: URL, partition, credentials, cookies
  ///   and preferences.
  /// - Returns: nil if processes should not share the request.
  func beginFlight(_ name: String) async throws -> SharedFlight?
}

/// The process that sends a request that several processes need.
@_spi(Fleet) public enum SharedFlight: Sendable {
  /// This process. It ends the lease when the response is stored, or will not be.
  case lead(any FlightLease)
  /// Another process: look up the stored responses again after a moment. Send the request after this time in total.
  case wait(Duration)
}

/// The right to send a request for other processes. It ends by itself if the process does.
@_spi(Fleet) public protocol FlightLease: AnyObject, Sendable {
  /// Ends the lease without waiting. Called once.
  func end(_ outcome: FlightOutcome)
}

/// What the processes that wait for a request do next.
@_spi(Fleet) public enum FlightOutcome: Sendable, Hashable {
  /// The response is stored: they look it up.
  case stored
  /// There is no response: one of them sends its request, and the others wait for it.
  case failed
  /// The response cannot be shared: each sends its request.
  case unshared

  init(_ outcome: Flight.Outcome) {
    switch outcome {
    case .stored: self = .stored
    case .abandoned: self = .failed
    case .unshared, .unstorable: self = .unshared
    }
  }

  /// The outcome for other processes after a response that is not stored.
  init(_ outcome: Flight.Outcome, after status: HTTPStatus) {
    self = CacheUpdate.isRefusalOrTemporaryError(status) ? .failed : FlightOutcome(outcome)
  }
}

/// The progress of a request that asks other processes.
struct LeaseProgress: Sendable {
  /// The right to send the request, while the process has it.
  var held: (any FlightLease)?
  /// Whether it is settled that the request has to be sent, unless a stored response answers it.
  var isDecided = false
  private var stopwatch: Stopwatch?
  private var pause = Duration.milliseconds(2)

  /// Returns how long to wait until the next look: a short time at first, since most responses arrive soon. nil if the
  /// request has waited long enough.
  mutating func nextPause(_ longest: Duration, on clock: any Clock<Duration>) -> Duration? {
    let stopwatch = stopwatch ?? Stopwatch(clock)
    self.stopwatch = stopwatch
    let rest = longest - stopwatch.elapsed
    guard rest > .zero else {
      isDecided = true
      return nil
    }
    defer { pause = min(pause * 2, .milliseconds(50)) }
    return min(pause, rest)
  }
}
