import MartletEngine
import MartletSemantics
import Synchronization

/// Keeps the head of the request that was sent last, to be shown.
final class RequestRecorder: EventListener {
  private enum Head {
    case prepared(RequestHead)
    case written(WrittenHead)
  }

  private let state = Mutex<(call: UInt64?, head: Head?)>((nil, nil))

  /// The head as it was written; or as it was prepared, if no transport wrote it. nil if there was no request.
  func head(in text: MessageText) -> String? {
    switch state.withLock({ $0.head }) {
    case .prepared(let head): text.request(head)
    case .written(let head): text.request(head)
    case nil: nil
    }
  }

  var events: Event.Kinds { [.started, .attempt, .sending, .written] }

  func receive(_ event: Event, in call: Call) {
    state.withLock { state in
      if state.call == nil { state.call = call.id }
      guard state.call == call.id else { return }
      switch event {
      case .attempt(_, let request): state.head = .prepared(request.head)
      case .sending(let head): state.head = .prepared(head)
      case .written(let head): state.head = .written(head)
      default: break
      }
    }
  }
}
