/// Reports a wait that takes long: where a test waits, and for what. That helps to find a test that never ends.
@_spi(Toolkit) public struct LongWait: Sendable {
  /// How long a wait may take before it is reported.
  private let time: Duration
  private let clock: any Clock<Duration>
  private let write: @Sendable (String) -> Void

  /// After 10 seconds, on standard error.
  public static let standard = LongWait(after: .seconds(10), on: ContinuousClock()) { SystemCalls.report($0) }

  public init(after time: Duration, on clock: any Clock<Duration>, write: @escaping @Sendable (String) -> Void) {
    (self.time, self.clock, self.write) = (time, clock, write)
  }

  /// Reports once the reason for the operation's wait, if it takes long.
  ///
  /// - Parameter description: the reason for the wait at that time.
  func watch<Outcome: Sendable>(
    _ place: Place, for description: @escaping @Sendable () -> String,
    _ operation: () async throws -> Outcome
  ) async throws -> Outcome {
    let report = Task { [time, clock, write] in
      try await clock.sleep(for: time)
      try Task.checkCancellation()  // The time may be up just as the wait ends.
      write("\(place) has waited \(time) for \(description())")
    }
    defer { report.cancel() }
    return try await operation()
  }

  /// A line of a test.
  public struct Place: Sendable, CustomStringConvertible {
    private let file: String
    private let line: Int

    public init(_ file: String, _ line: Int) { (self.file, self.line) = (file, line) }

    public var description: String { "\(file):\(line)" }
  }
}
