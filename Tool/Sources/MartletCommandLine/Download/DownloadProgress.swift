@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Shows the progress of a download on one line of a terminal.
final class DownloadProgress: EventListener {
  private let output: any Output
  private let palette: Palette
  private let stopwatch: Stopwatch
  private let isShown: Bool
  private let state = Mutex(State())
  private static let interval = Duration.milliseconds(100)

  private struct State: Sendable {
    var start = Duration.zero
    var shown: Duration?
    var isEnded = false
  }

  init(to output: any Output, palette: Palette, clock: any Clock<Duration>, isQuiet: Bool) {
    self.output = output
    self.palette = palette
    stopwatch = Stopwatch(clock)
    isShown = output.isTerminal && !isQuiet
  }

  /// Begins to measure the speed.
  func begin() { state.withLock { $0.start = stopwatch.elapsed } }

  var events: Event.Kinds { isShown ? .progress : [] }

  func receive(_ event: Event, in call: Call) {
    if case .progress(let progress) = event, progress.direction == .received { show(progress) }
  }

  private func show(_ progress: Event.Progress) {
    let now = stopwatch.elapsed
    let line: String? = state.withLock { state in
      let isDue = state.shown.map { now - $0 >= Self.interval } ?? true
      guard !state.isEnded, isDue || progress.completed == progress.total else { return nil }
      state.shown = now
      return Self.line(progress, elapsed: now - state.start, columns: output.columns)
    }
    guard let line else { return }
    do throws(OutputError) { try output.write("\r\u{1B}[K" + line) } catch {}
  }

  /// Removes the line.
  func end() {
    let wasShown = state.withLock { state in
      defer { state.isEnded = true }
      return state.shown != nil && !state.isEnded
    }
    guard wasShown else { return }
    do throws(OutputError) { try output.write("\r\u{1B}[K") } catch {}
  }

  /// `[████████░░░░░░░░]  47 %  1.2 MB of 2.5 MB  840 kB/s  2 s left`.
  static func line(_ progress: Event.Progress, elapsed: Duration, columns: Int) -> String {
    let done = progress.completed
    let seconds = elapsed.inMilliseconds / 1000
    let rate = seconds > 0.05 ? Double(done - progress.offset) / seconds : nil
    let speed = rate.map { "  \(Quantity.text(Int64($0)))/s" } ?? ""
    guard let total = progress.total, total > 0 else { return "\(Quantity.text(done))\(speed)" }
    let fraction = min(1, Double(done) / Double(total))
    var text = "\(Int(fraction * 100)) %  \(Quantity.text(done)) of \(Quantity.text(total))\(speed)"
    if let rate, rate > 0, done < total {
      text += "  \(Quantity.text(.seconds(min(Double(total - done) / rate, 1e9)))) left"
    }
    let width = min(40, columns - text.count - 5)
    guard width >= 10 else { return text }
    let filled = Int((Double(width) * fraction).rounded())
    return "[" + String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled) + "] " + text
  }
}
