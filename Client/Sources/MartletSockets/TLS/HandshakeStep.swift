#if os(Linux)
@_spi(Toolkit) package import MartletEngine
import Synchronization

extension WorkerThreads {
  /// The threads of the TLS handshakes of all transports: as many as there are processors, at most four. A full
  /// handshake computes for longer than a hundred requests take on a loop's thread, where they would wait for it.
  package static let handshakes = WorkerThreads("martlet-handshakes", limit: min(4, Processors.available()))
}

/// A step of a handshake: the session computes with all bytes that have arrived.
///
/// The loop's thread does not use the session until it gets the step back.
// SAFETY: `session` and `result` belong to the thread that runs the step, and then to that of the loop.
final class HandshakeStep: @unchecked Sendable {
  let session: TLSSession
  /// Whether the handshake is complete, or why it has failed.
  private(set) var result: Result<Bool, HTTPError> = .success(false)
  private let isNeeded = Atomic(true)

  init(_ session: TLSSession) { self.session = session }

  /// Runs the step, unless it was abandoned. Returns whether it ran.
  @discardableResult
  func run() -> Bool {
    guard isNeeded.load(ordering: .relaxed) else { return false }
    result = Result { () throws(HTTPError) in try session.handshake() }
    return true
  }

  /// Gives up the step with its session: the connection is closed.
  func abandon() { isNeeded.store(false, ordering: .relaxed) }
}
#endif
