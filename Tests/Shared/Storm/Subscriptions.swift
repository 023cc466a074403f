import MartletCombine
import Synchronization

/// A subscription that another thread may cancel before it exists.
final class HeldSubscription: Sendable {
  private struct State {
    var subscription: AnyCancellable?
    var isCancelled = false
  }

  private let state = Mutex(State())

  func set(_ subscription: AnyCancellable) {
    let isCancelled = state.withLock { state in
      state.subscription = subscription
      return state.isCancelled
    }
    if isCancelled { subscription.cancel() }
  }

  func cancel() {
    let subscription = state.withLock { state in
      state.isCancelled = true
      return state.subscription
    }
    subscription?.cancel()
  }
}

/// The text of the last value that a subscriber received.
final class LastValue: Sendable {
  private let value = Mutex<String?>(nil)

  var text: String? { value.withLock { $0 } }

  func set(_ text: String?) { value.withLock { $0 = text } }
}
