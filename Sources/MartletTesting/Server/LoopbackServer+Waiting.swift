extension LoopbackServer {
  /// Who ended a connection.
  public enum ConnectionEnd: Sendable, Hashable {
    /// The client closed it, or it broke.
    case client
    /// The server closed or reset it, as a reply asked or because it was stopped.
    case server
  }

  /// Waits for the n-th request, counted from 1 over all connections, and returns it.
  ///
  /// It is there before its reply is: this is how a test knows that the server holds a request.
  ///
  /// - Throws: `CancellationError`, or ``LoopbackServerError`` if the server stops before that request, or records
  ///   nothing.
  public func request(_ number: Int) async throws -> ReceivedRequest {
    guard recording == .everything else {
      throw LoopbackServerError("the server remembers no requests to wait for: make it with `recording: .everything`")
    }
    return try await ledger.wait { ledger -> Result<ReceivedRequest, LoopbackServerError>? in
      if number > 0, ledger.requests.count >= number { return .success(ledger.requests[number - 1]) }
      guard ledger.isStopped else { return nil }
      return .failure(.init("the server was stopped after \(ledger.requests.count) requests, before number \(number)"))
    }.get()
  }

  /// Waits until the n-th connection, counted from 1, is over, and says who ended it.
  ///
  /// - Throws: `CancellationError`, or ``LoopbackServerError`` if the server stops before that connection.
  @discardableResult
  public func end(ofConnection number: Int) async throws -> ConnectionEnd {
    try await ledger.wait { ledger -> Result<ConnectionEnd, LoopbackServerError>? in
      if let end = ledger.ends[number] { return .success(end) }
      guard ledger.isStopped, number > ledger.accepted else { return nil }
      return .failure(.init("the server was stopped after \(ledger.accepted) connections, before number \(number)"))
    }.get()
  }
}
