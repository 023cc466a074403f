import Synchronization

/// The text of the last value that a subscriber received.
final class LastValue: Sendable {
  private let value = Mutex<String?>(nil)

  var text: String? { value.withLock { $0 } }

  func set(_ text: String?) { value.withLock { $0 = text } }
}
