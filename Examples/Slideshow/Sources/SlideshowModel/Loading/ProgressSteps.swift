import Martlet
import Synchronization

/// Passes the progress of a response's body on, in steps of a percent (or of 64 KiB where the whole is unknown).
final class ProgressSteps: EventListener {
  private let report: @Sendable (TransferProgress) -> Void
  private let lastStep = Atomic<Int64>(-1)

  init(_ report: @escaping @Sendable (TransferProgress) -> Void) { self.report = report }

  func receive(_ event: Event, in exchange: Exchange) {
    guard case .progress(let progress) = event, progress.direction == .received else { return }
    let step = progress.fraction.map { Int64($0 * 100) } ?? progress.completed >> 16
    if lastStep.exchange(step, ordering: .relaxed) != step { report(progress) }
  }
}
