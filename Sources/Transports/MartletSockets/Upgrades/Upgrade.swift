#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// The state of an upgraded connection that its task and the loop share.
final class Upgrade: Sendable {
  let input: SignalQueue<Signal>
  let output = UploadQueue(waitsForDemand: false)
  /// The loop's part of the state.
  let stage = LoopBound(Stage.expected)
  /// Why nothing more can be written.
  private let failure = Mutex<(any Error)?>(nil)

  enum Stage {
    /// The server has not responded yet.
    case expected
    case open(UpgradedDriver)
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

  init(readAhead: Int) { input = SignalQueue(highWater: max(Exchange.leastReadAhead, readAhead)) }

  /// Ends writing. The first error counts.
  func failWriting(_ error: any Error) {
    failure.withLock { $0 = $0 ?? error }
    output.close()
  }

  /// The error of a write that was refused.
  var writingError: any Error { failure.withLock { $0 } ?? CancellationError() }
}

extension Network {
  /// Reads on: the reader of an upgraded connection wants more.
  func resumeReading(_ upgrade: Upgrade) { driver(of: upgrade)?.resumeReading() }

  /// Sends the rest of an upgraded connection's output, or its end.
  func continueOutput(of upgrade: Upgrade) { driver(of: upgrade)?.send() }

  /// Nobody uses an upgraded connection any more.
  func close(_ upgrade: Upgrade) {
    let driver = driver(of: upgrade)
    upgrade.stage.set(.over, on: loop)
    driver?.close()
  }

  func driver(of upgrade: Upgrade) -> UpgradedDriver? {
    if case .open(let driver) = upgrade.stage.get(on: loop) { driver } else { nil }
  }
}
#endif
