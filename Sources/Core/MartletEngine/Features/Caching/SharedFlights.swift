import MartletSemantics

/// A cache store whose processes send identical requests once: implement it on a store that several processes share.
///
/// Within a process an ``HTTPCache`` sends one of identical requests, and the others wait for its response. With this protocol
/// the process asks the others before it sends that one: when no stored response can answer it, or one has to be validated.
/// Then it looks up the stored responses again, so that one that was stored in between is used.
///
/// A lease saves requests, and excludes nothing: when the store fails or a wait takes too long, the request is sent. A store
/// that throws counts as one that knows nothing.
public protocol SharedFlights: CacheStore {
  /// Asks whether this process is to send a request. It is asked again, after a moment, as long as the answer is to wait.
  ///
  /// - Parameter name: a digest of what makes requests identical: URL, partition, credentials, cookies and preferences.
  /// - Returns: nil if processes are not to share the request.
  func beginFlight(_ name: String) async throws -> SharedFlight?
}

/// Who sends a request that several processes need.
public enum SharedFlight: Sendable {
  /// This process. It ends the lease when the response is stored, or known not to be.
  case lead(any FlightLease)
  /// Another process: look up the stored responses again after a moment, for that long altogether; then send the request.
  case wait(Duration)
}

/// The right to send a request for other processes, which ends by itself if the process does.
public protocol FlightLease: AnyObject, Sendable {
  /// Ends the lease, without a wait. Called once.
  func end(_ outcome: FlightOutcome)
}

/// What other processes do that wait for a request.
public enum FlightOutcome: Sendable, Hashable {
  /// The response is stored: they look it up.
  case stored
  /// There is no response: one of them sends its request, and the others wait for that one.
  case failed
  /// The response cannot be shared: each sends its request.
  case unshared

  init(_ outcome: CacheTransaction.Outcome) {
    switch outcome {
    case .stored: self = .stored
    case .abandoned: self = .failed
    case .unshared, .unstorable: self = .unshared
    }
  }

  /// What others do after a response that is not stored.
  init(_ outcome: CacheTransaction.Outcome, after status: HTTPStatus) {
    self = CacheUpdate.isRefusalOrTemporaryError(status) ? .failed : FlightOutcome(outcome)
  }
}

/// Where a request is that asks other processes.
struct FlightProgress: Sendable {
  /// The right to send the request, while the process has it.
  var lease: (any FlightLease)?
  /// Whether it is known that the request is to be sent, unless a stored response answers it.
  var isDecided = false
  private var stopwatch: Stopwatch?
  private var pause = Duration.milliseconds(2)

  /// Returns how long to wait until the next look: short at first, since most responses come soon. nil if the request has waited
  /// for long enough.
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
