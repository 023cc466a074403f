import MartletEngine
import MartletSemantics
import Synchronization

/// Keeps the head of the request that was sent last, and of the response to it, to be shown.
final class SentRequest: EventListener {
  private let state = Mutex<(call: UInt64?, head: RequestHead?)>((nil, nil))

  /// The head, with cookies and credentials if it was sent over the network.
  var head: RequestHead? { state.withLock { $0.head } }

  var events: EventKinds { [.started, .attempt, .sending] }

  func receive(_ event: Event, in call: Call) {
    state.withLock { state in
      if state.call == nil { state.call = call.id }
      guard state.call == call.id else { return }
      switch event {
      case .attempt(_, let request): state.head = request.head
      case .sending(let head): state.head = head
      default: break
      }
    }
  }
}
