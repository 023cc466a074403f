public import MartletSemantics

/// The level of memory pressure that the system reports.
public enum MemoryPressure: Sendable, Hashable {
  /// Some tasks stall for memory: remove data that can be loaded again.
  case warning
  /// All tasks stall for memory: keep only data in use.
  case critical
}

extension MemoryPressure {
  /// Parses the kernel's pressure stall information. If some tasks stalled for at least 10 % of the last ten seconds,
  /// it is a warning; if all tasks did, it is critical. nil below that, or if the text has another form.
  ///
  /// The text is `some avg10=1.53 avg60=0.87 avg300=0.25 total=962823844`, and a line `full …` of the same form.
  init?(stall text: String) {
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

  /// Reads the memory pressure at an interval, and yields it if there is any: that of the process's container (cgroup
  /// 2), or else of the whole system.
  ///
  /// Linux reports it in a file (Documentation/accounting/psi.rst), if the kernel was built with that option. Without
  /// such a file, as on other platforms, the stream ends at once: call ``ImageCache/trim(to:)`` yourself.
  ///
  /// - Parameters:
  ///   - interval: the time between two reads; 5 seconds by default.
  ///   - files: the files to read, of which the first readable one counts.
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
  /// Removes images at each signal, until the signals end or the task is cancelled: half of the bytes at a warning, all
  /// of them when the pressure is critical.
  ///
  /// ```swift
  /// Task { await ImageCache.shared.trim(on: MemoryPressure.signals()) }
  /// ```
  public func trim<Signals: AsyncSequence>(on signals: Signals) async
  where Signals.Element == MemoryPressure, Signals.Failure == Never {
    for await pressure in signals { trim(to: pressure == .critical ? 0 : byteCount / 2) }
  }
}
