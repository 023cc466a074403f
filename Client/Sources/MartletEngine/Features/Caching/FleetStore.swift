import MartletSemantics

/// A cache store that several processes share, and that lets one of them send a request for all.
///
/// Within a process, an ``HTTPCache`` sends one of several identical requests, and the others wait for its response.
/// With this protocol, the cache asks for a lease before it sends that request, and then looks up the stored responses
/// again, in case another process has stored one.
///
/// A lease saves requests, but guarantees nothing: when the store throws or a wait takes too long, the request is sent.
@_spi(Stores) public protocol FleetStore: CacheStore {
  /// Asks for the lease of a request. While the answer is to wait, the cache asks again after a moment.
  ///
  /// - Parameter name: a digest of the properties that make requests identical: URL, partition, credentials, cookies
  ///   and preferences.
  /// - Returns: nil if processes should not share the request.
  func requestLease(for name: String) async throws -> FleetAnswer?
}

/// What this process has to do with a request that several processes want to send.
@_spi(Stores) public enum FleetAnswer: Sendable {
  /// It sends the request, and ends the lease when the response is stored or known not to be.
  case send(any FleetLease)
  /// It waits for the response to another process's request, for this time at most.
  case wait(Duration)
}

/// The right to send a request for other processes. It ends by itself if the process does.
@_spi(Stores) public protocol FleetLease: AnyObject, Sendable {
  /// Ends the lease without waiting. Called once.
  func end(_ outcome: FleetOutcome)
}

/// What the processes that wait for a request do next.
@_spi(Stores) public enum FleetOutcome: Sendable, Hashable {
  /// The response is stored: they look it up.
  case stored
  /// There is no response: one of them sends its request, and the others wait for it.
  case failed
  /// The response cannot be shared: each sends its request.
  case unshared

  init(_ ending: CacheTransaction.Ending) {
    switch ending {
    case .stored: self = .stored
    case .abandoned: self = .failed
    case .unshared, .unstorable: self = .unshared
    }
  }

  /// The outcome for other processes after a response that is not stored.
  init(_ ending: CacheTransaction.Ending, after status: HTTPStatus) {
    self = CacheUpdate.isRefusalOrTemporaryError(status) ? .failed : FleetOutcome(ending)
  }
}
