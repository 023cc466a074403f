import MartletEngine
import MartletSemantics
import Synchronization

/// Keeps the heads of the attempts of the run's first call, to be shown.
final class RequestRecorder: EventListener {
  private enum Head {
    case prepared(RequestHead)
    case written(WrittenHead)
  }

  private struct Exchange {
    var request: Head
    var response: ResponseHead?
  }

  private let state = Mutex<(call: UInt64?, exchanges: [Exchange])>((nil, []))

  /// The head as it was written; or as it was prepared, if no transport wrote it. nil if there was no request.
  func head(in text: MessageText) -> String? { state.withLock { $0.exchanges.last }.map { Self.head($0, in: text) } }

  /// The heads of the attempts before the last one: redirects, challenges and retries.
  func earlierHeads(in text: MessageText) -> [(request: String, response: String?)] {
    state.withLock { $0.exchanges.dropLast() }
      .map { (Self.head($0, in: text), $0.response.map { text.response($0) }) }
  }

  private static func head(_ exchange: Exchange, in text: MessageText) -> String {
    switch exchange.request {
    case .prepared(let head): text.request(head)
    case .written(let head): text.request(head)
    }
  }

  var events: Event.Kinds { [.started, .attempt, .sending, .written, .response] }

  func receive(_ event: Event, in call: Call) {
    state.withLock { state in
      if state.call == nil { state.call = call.id }
      guard state.call == call.id else { return }
      if case .attempt(_, let request) = event {
        state.exchanges.append(Exchange(request: .prepared(request.head)))
      }
      guard !state.exchanges.isEmpty else { return }
      let last = state.exchanges.endIndex - 1
      switch event {
      case .sending(let head): state.exchanges[last].request = .prepared(head)
      case .written(let head): state.exchanges[last].request = .written(head)
      case .response(let head, _): state.exchanges[last].response = head
      default: break
      }
    }
  }
}
