import MartletEngine
import MartletSemantics

/// The reason why a response over HTTP/1 was refused or is incomplete.
struct HTTP1Failure: Error, Hashable, Sendable {
  /// `protocolViolation`, `headTooLarge` or `connectionLost`.
  let kind: HTTPError.Kind
  /// The fault, without the name of the peer.
  let message: String
  /// `waiting` before the final head is complete, `receiving` afterwards.
  let phase: HTTPError.Phase

  init(_ kind: HTTPError.Kind, _ message: String, phase: HTTPError.Phase) {
    self.kind = kind
    self.message = message
    self.phase = phase
  }

  /// The failure of a message that RFC 9112 does not allow, or that has too many heads.
  init(_ fault: MessageFault, phase: HTTPError.Phase) {
    self.init(fault == .informationalHeads ? .headTooLarge : .protocolViolation, fault.description, phase: phase)
  }

  /// The error for a caller.
  ///
  /// - Parameter peer: host and port of the request, with which the message begins.
  func error(of peer: String) -> HTTPError { HTTPError(kind, "\(peer): \(message)", phase: phase) }
}
