public import MartletSemantics

/// How short of memory the system is.
public enum MemoryPressure: Sendable, Hashable {
  /// Work waits for memory now and then: what can be had again should go.
  case warning
  /// Everything waits for memory: only what is in use should stay.
  case critical
}

extension MemoryPressure {
  /// Reads the kernel's pressure stall information: at least 10 % of the last ten seconds in which something waited for memory
  /// is a warning, in which everything did is critical. nil where it is less, or the text something else.
  ///
  /// The text: `some avg10=1.53 avg60=0.87 avg300=0.25 total=962823844`, and a line `full …` of the same form.
  public init?(stall text: String) {
    func average(_ kind: String) -> Double {
      let line = text.split(separator: "\n").first { $0.hasPrefix(kind + " ") }
      let field = line?.split(separator: " ").first { $0.hasPrefix("avg10=") }
      return field.flatMap { Double($0.dropFirst(6)) } ?? 0
    }
    if average("full") >= 10 {
      self = .critical
    } else if average("some") >= 10 {
      self = .warning
    } else {
      return nil
    }
  }

  /// What the kernel says, asked every so often: of the process's container (cgroup 2), or else of the whole system.
  ///
  /// Linux tells nobody by itself: there is a file to be read (Documentation/accounting/psi.rst), and only where the kernel was
  /// built with it. Where there is none the stream ends at once, and ``ImageCache/trim(to:)`` is there to be called by hand.
  ///
  /// - Parameters:
  ///   - interval: how often; every 5 seconds by default.
  ///   - files: the first of these that can be read.
  ///   - clock: measures the interval.
  public static func signals(
    every interval: Duration = .seconds(5),
    in files: [URL] = ["/sys/fs/cgroup/memory.pressure", "/proc/pressure/memory"].map { URL(filePath: $0) },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> AsyncStream<MemoryPressure> {
    @Sendable func text() -> String? {
      files.lazy.compactMap { try? Data(contentsOf: $0) }.first.map { String(decoding: $0, as: UTF8.self) }
    }
    return AsyncStream {
      while text() != nil, (try? await clock.sleep(for: interval)) != nil {
        if let pressure = text().flatMap(MemoryPressure.init(stall:)) { return pressure }
      }
      return nil
    }
  }
}

extension ImageCache {
  /// Makes room whenever memory is short, until the signals end or the task is cancelled: half of what is there goes at a
  /// warning, all of it when it is critical.
  ///
  /// ```swift
  /// Task { await ImageCache.shared.trim(on: MemoryPressure.signals()) }
  /// ```
  public func trim<Signals: AsyncSequence>(on signals: Signals) async
  where Signals.Element == MemoryPressure, Signals.Failure == Never {
    for await pressure in signals { trim(to: pressure == .critical ? 0 : byteCount / 2) }
  }
}
