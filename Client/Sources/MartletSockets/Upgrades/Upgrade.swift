#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// Carries the bytes of a connection, or of a stream, that is not used for HTTP any more. It is called on the loop's
/// thread.
protocol UpgradeCarrier: AnyObject {
  /// The reader wants more.
  func resumeReading()
  /// Sends what was written, or the end.
  func send()
  /// Ends both directions, because the connection or stream has no user any more.
  ///
  /// - Parameter sendingRest: whether a stream of HTTP/2 first sends the bytes that are still waiting.
  func close(sendingRest: Bool)
  /// The socket, if the peer answers fast; otherwise nil.
  var answeringSocket: LayeredSocket? { get }
  /// Whether bytes have arrived since some were sent.
  var hasAnswer: Bool { get }
  /// Notes that a wait ended without an answer.
  func noteSilence()
}

extension UpgradeCarrier {
  /// No thread waits for an answer on a connection that others share.
  var answeringSocket: LayeredSocket? { nil }

  var hasAnswer: Bool { true }

  func noteSilence() {}
}

/// The state of an upgraded connection that its task and the loop share.
final class Upgrade: Sendable {
  let input: SignalQueue<Signal>
  let output = UploadQueue(waitsForDemand: false)
  /// The loop's part of the state.
  let stage = LoopBound(Stage.expected)
  /// How many more bytes its reader is known to need.
  let missing = Atomic(0)
  /// Whether its user waited for input after the last write: the program is likely to await the answer to the next one.
  let isAwaited = Atomic(false)
  /// Why nothing more can be written.
  private let failure = Mutex<(any Error)?>(nil)
  /// Whether the user has left after its last bytes: see ``DuplexStream/leave()``.
  let isLeaving = Atomic(false)
  /// Whether its connection has other users, too.
  let isShared = Atomic(false)

  enum Stage {
    /// The server has not responded yet.
    case expected
    case open(any UpgradeCarrier)
    /// It is closed, or was closed before it was open.
    case over
  }

  /// The reports of the loop.
  enum Signal: QueuedSignal {
    case bytes(Data)
    /// The peer has ended its direction.
    case end
    case failed(HTTPError)

    var byteCount: Int { if case .bytes(let data) = self { max(256, data.count) } else { 0 } }

    func replaces(_ earlier: Self) -> Bool { false }
  }

  init(readAhead: Int) { input = SignalQueue(highWater: max(Exchange.minimumReadAhead, readAhead)) }

  /// Ends writing. The first error counts.
  func failWriting(_ error: any Error) {
    failure.withLock { $0 = $0 ?? error }
    output.close()
  }

  /// The error of a write that was refused.
  var writingError: any Error { failure.withLock { $0 } ?? CancellationError() }
}

extension TransportCore {
  /// Reads on: the reader of an upgraded connection wants more.
  func resumeReading(_ upgrade: Upgrade) { carrier(of: upgrade)?.resumeReading() }

  /// Sends the rest of an upgraded connection's output, or its end.
  func continueOutput(of upgrade: Upgrade) { carrier(of: upgrade)?.send() }

  /// Closes an upgraded connection that has no user any more.
  func close(_ upgrade: Upgrade, sendingRest: Bool) {
    let carrier = carrier(of: upgrade)
    upgrade.stage.set(.over, on: loop)
    carrier?.close(sendingRest: sendingRest)
  }

  func carrier(of upgrade: Upgrade) -> (any UpgradeCarrier)? {
    if case .open(let carrier) = upgrade.stage.get(on: loop) { carrier } else { nil }
  }
}
#endif
