/// A gate that a test opens to let something continue: a reply, a part of its body, a mock's answer.
///
/// ```swift
/// let gate = Gate()
/// let server = try LoopbackServer { _ in .text("hello").stalled(after: 2, until: gate) }
/// …                     // the client has received "he"
/// gate.open()           // now it receives "llo"
/// ```
///
/// A gate opens once and stays open. It uses two file descriptors while it exists.
public final class Gate: Sendable {
  private let opened = Awaitable(false)
  private let event: PipeEvent

  /// Makes a closed gate. It stops the program if the process has no file descriptors left.
  public init() {
    guard let event = PipeEvent() else {
      preconditionFailure("no file descriptors left for a Gate: raise `ulimit -n`, or keep fewer gates and servers")
    }
    self.event = event
  }

  private init(_ event: PipeEvent) { self.event = event }

  /// Makes a closed gate; nil if the process has no file descriptors left.
  static func ifPossible() -> Gate? { PipeEvent().map(Gate.init) }

  /// Whether it is open.
  public var isOpen: Bool { opened.value }

  /// Opens the gate. Opening an open gate does nothing.
  public func open() {
    let isFirst = opened.update { isOpen in
      defer { isOpen = true }
      return !isOpen
    }
    if isFirst { event.signal() }
  }

  /// Suspends until the gate is open. A wait of more than 10 seconds is reported on standard error, with its line.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func wait(fileID: String = #fileID, line: Int = #line) async throws {
    _ = try await opened.wait(at: .init(fileID, line), saying: { _ in "a Gate that is not opened" }) {
      $0 ? true : nil
    }
  }

  /// Blocks the thread until this gate or the other one opens, or the time has come.
  func block(orUntil other: Gate? = nil, atMost deadline: ContinuousClock.Instant? = nil) {
    while !isOpen, other?.isOpen != true {
      if let deadline, deadline <= .now { return }
      let time = deadline.map { ServerSocket.milliseconds($0 - .now) } ?? -1
      SystemCalls.waitForInput([descriptor] + (other.map { [$0.descriptor] } ?? []), milliseconds: time)
    }
  }

  /// Readable for `poll` once the gate is open, for a thread that waits for a socket at the same time.
  var descriptor: Int32 { event.descriptor }
}

/// A one-time event that `poll` can wait for: a pipe that gets one byte, which is never read.
private final class PipeEvent: Sendable {
  /// Readable from ``signal()`` on.
  let descriptor: Int32
  private let writeEnd: Int32

  /// Returns nil if the process has no file descriptors left.
  init?() {
    guard let ends = SystemCalls.makePipe() else { return nil }
    (descriptor, writeEnd) = ends
  }

  /// Makes the descriptor readable; to be called once.
  func signal() { SystemCalls.writeByte(to: writeEnd) }

  deinit {
    SystemCalls.closeDescriptor(descriptor)
    SystemCalls.closeDescriptor(writeEnd)
  }
}
