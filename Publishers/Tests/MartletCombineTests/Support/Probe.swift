import MartletCombine
import Synchronization

/// A subscriber that requests values explicitly and records what it receives.
final class Probe<Input: Sendable, Failure: Error>: Subscriber, @unchecked Sendable {
  // SAFETY: used by one test; if threads take part, only after the serial delivery that is under test.
  private(set) var values: [Input] = []
  private(set) var completions: [Subscribers.Completion<Failure>] = []
  private(set) var subscription: (any Subscription)?
  private let initial: Subscribers.Demand
  private let more: (Input) -> Subscribers.Demand
  private(set) var deepest = 0
  private var depth = 0

  init(asking initial: Subscribers.Demand = .none, more: @escaping (Input) -> Subscribers.Demand = { _ in .none }) {
    self.initial = initial
    self.more = more
  }

  func receive(subscription: any Subscription) {
    self.subscription = subscription
    if initial > .none { subscription.request(initial) }
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    depth += 1
    defer { depth -= 1 }
    deepest = max(deepest, depth)
    values.append(input)
    return more(input)
  }

  func receive(completion: Subscribers.Completion<Failure>) { completions.append(completion) }

  var isFinished: Bool { if case .finished? = completions.first { completions.count == 1 } else { false } }

  var failure: Failure? { if case .failure(let error)? = completions.first { error } else { nil } }
}

struct Oops: Error, Equatable {
  let number: Int
}

extension Publisher where Output: Sendable {
  /// Returns a publisher's immediate output, with unlimited demand.
  var all: [Output] { probe().values }

  func probe(_ demand: Subscribers.Demand = .unlimited) -> Probe<Output, Failure> {
    let probe = Probe<Output, Failure>(asking: demand)
    subscribe(probe)
    return probe
  }
}
