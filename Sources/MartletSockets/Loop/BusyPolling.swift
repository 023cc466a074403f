#if os(Linux)
/// When a loop that has nothing to do looks for work again and again for a short time before it sleeps: to wake a
/// sleeping thread can take longer than a server nearby takes to answer.
///
/// It does so only if the last wait of the same sort was short, so that waits that are long anyway cost nothing.
struct BusyPolling {
  /// What a loop waits for, as far as polling for it can be worth its time.
  enum Wait {
    /// The next request, while there is none.
    case request
    /// The head of the response to the only request.
    case response
  }

  /// The longest time for which it polls, in nanoseconds; 0 if it never does.
  let limit: UInt64
  /// How long the last wait of each sort took.
  private var last: (request: UInt64, response: UInt64) = (0, 0)

  /// - Parameters:
  ///   - limit: the longest time for which it polls, in nanoseconds.
  ///   - processors: how many processors the process may use. A thread that polls on the only one would keep it from
  ///     those it waits for.
  init(limit: UInt64, processors: Int) { self.limit = processors > 1 ? limit : 0 }

  /// Whether to poll in this wait.
  func isWorthIt(for wait: Wait) -> Bool {
    switch wait {
    case .request: last.request < limit
    case .response: last.response < limit
    }
  }

  /// Notes how long a wait took, from its beginning to its end.
  mutating func note(_ duration: UInt64, of wait: Wait) {
    switch wait {
    case .request: last.request = duration
    case .response: last.response = duration
    }
  }
}
#endif
