import Synchronization

/// Reports the events of a call to its listeners until its end. The end is the last event, even if others are being
/// reported when the call ends.
struct EventReporter: ~Copyable, Sendable {
  private let listeners: [any EventListener]
  /// The events that at least one listener receives.
  let kinds: Event.Kinds
  /// Twice the number of events that are being reported, and one more after the end: no event is reported then, not
  /// even by work that a deadline has abandoned.
  private let reports = Atomic<UInt>(0)
  /// The first end that has to wait for other reports: whether there is one, and its error.
  private let waitingEnd = Mutex<(isSet: Bool, error: HTTPError?)>((false, nil))

  init(_ listeners: [any EventListener]) {
    self.listeners = listeners
    kinds = listeners.reduce(into: Event.Kinds()) { $0.formUnion($1.events) }
  }

  /// Whether there are listeners, and the end was not reported.
  var isOpen: Bool { !kinds.isEmpty && reports.load(ordering: .relaxed) & 1 == 0 }

  /// Reports an event, unless the end was reported.
  func report(_ event: Event, of call: Call) {
    if case .finished(let error) = event { return reportEnd(error, of: call) }
    guard begin() else { return }
    deliver(event, of: call)
    let rest = reports.subtract(2, ordering: .acquiringAndReleasing).newValue
    if rest == 1 { deliver(.finished(waitingEnd.withLock { $0.error }), of: call) }
  }

  /// Counts a report. Returns false after the end.
  private func begin() -> Bool {
    var count = reports.load(ordering: .relaxed)
    while count & 1 == 0 {
      let (isCounted, current) = reports.weakCompareExchange(
        expected: count, desired: count + 2, ordering: .acquiringAndReleasing)
      if isCounted { return true }
      count = current
    }
    return false
  }

  /// Reports the first end. If other events are being reported, the last of these reports is followed by the end.
  private func reportEnd(_ error: HTTPError?, of call: Call) {
    if reports.compareExchange(expected: 0, desired: 1, ordering: .acquiringAndReleasing).exchanged {
      return deliver(.finished(error), of: call)
    }
    guard reports.load(ordering: .relaxed) & 1 == 0 else { return }
    let first = waitingEnd.withLock { end in
      if !end.isSet { end = (true, error) }
      return end.error
    }
    if reports.bitwiseOr(1, ordering: .acquiringAndReleasing).oldValue == 0 { deliver(.finished(first), of: call) }
  }

  private func deliver(_ event: Event, of call: Call) {
    let kind = event.kind
    guard !kinds.isDisjoint(with: kind) else { return }
    for listener in listeners where !listener.events.isDisjoint(with: kind) { listener.receive(event, in: call) }
  }
}
