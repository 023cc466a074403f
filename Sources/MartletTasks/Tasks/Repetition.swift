import Martlet

/// Does the work again while it fails, at most so many times more, and not once it is cancelled.
func again<Outcome>(
  _ times: Int, where hasFailed: (Outcome) -> Bool, _ work: () async -> Outcome
) async -> Outcome {
  var rest = times
  while true {
    let outcome = await work()
    guard hasFailed(outcome), rest > 0, !Task.isCancelled else { return outcome }
    rest -= 1
  }
}

/// Does the work, and cancels it where it takes longer.
func within<Outcome: Sendable>(
  _ limit: Duration, otherwise failed: @escaping @Sendable (HTTPError) -> Outcome,
  _ work: @escaping @Sendable () async -> Outcome
) async -> Outcome {
  await withTaskGroup(of: Outcome?.self) { group in
    group.addTask { await work() }
    group.addTask {
      do { try await Task.sleep(for: limit.bounded) } catch { return nil }
      return failed(HTTPError(.deadlineExceeded, "the task took longer than \(limit)"))
    }
    defer { group.cancelAll() }
    while let first = await group.next() { if let first { return first } }
    return failed(HTTPError(.cancelled, "the task was cancelled"))
  }
}
