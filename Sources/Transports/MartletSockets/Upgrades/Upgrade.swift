#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// What the task that uses an upgraded connection and the loop share of it.
final class Upgrade: Sendable {
  let input: SignalQueue<Signal>
  let output = UploadQueue(waitsForDemand: false)
  /// The loop's part of it.
  let stage = LoopBound(Stage.expected)
  /// Why nothing more can be written.
  private let failure = Mutex<(any Error)?>(nil)

  enum Stage {
    /// The server has not answered the request.
    case expected
    case open(UpgradedDriver)
    /// It is closed, or was closed before it was open.
    case over
  }

  /// What the loop reports.
  enum Signal: QueuedSignal {
    case bytes(Data)
    /// The peer has ended its direction.
    case end
    case failed(HTTPError)

    var byteCount: Int { if case .bytes(let data) = self { max(256, data.count) } else { 0 } }

    func replaces(_ earlier: Self) -> Bool { false }
  }

  init(readAhead: Int) { input = SignalQueue(highWater: max(Exchange.leastReadAhead, readAhead)) }

  /// Nothing more can be written. The first error counts.
  func failWriting(_ error: any Error) {
    failure.withLock { $0 = $0 ?? error }
    output.close()
  }

  /// The error of a write that was not taken.
  var writingError: any Error { failure.withLock { $0 } ?? CancellationError() }
}

extension Network {
  /// The reader of an upgraded connection wants more.
  func resumeReading(_ upgrade: Upgrade) { driver(of: upgrade)?.resumeReading() }

  /// There is more to send over an upgraded connection, or the end.
  func continueOutput(of upgrade: Upgrade) { driver(of: upgrade)?.send() }

  /// Nobody uses an upgraded connection any more.
  func close(_ upgrade: Upgrade) {
    let driver = driver(of: upgrade)
    upgrade.stage.set(.over, on: loop)
    driver?.close()
  }

  private func driver(of upgrade: Upgrade) -> UpgradedDriver? {
    if case .open(let driver) = upgrade.stage.get(on: loop) { driver } else { nil }
  }
}
#endif
