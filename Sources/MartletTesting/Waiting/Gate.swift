/// A gate that a test opens when it wants something to go on: a reply, a part of its body, a mock's answer.
///
/// ```swift
/// let gate = Gate()
/// let server = try LoopbackServer { _ in .text("hello").stalled(after: 2, until: gate) }
/// …                     // the client has "he" and waits
/// gate.open()           // now it gets "llo"
/// ```
///
/// It opens once, for all who wait and all who come later. A gate takes two file descriptors while it lives.
public final class Gate: Sendable {
  private let opened = Watched(false)
  private let signal: Signal

  /// Makes a closed gate. It stops the program if the process has no file descriptors left.
  public init() {
    guard let signal = Signal() else {
      preconditionFailure("no file descriptors left for a Gate: raise `ulimit -n`, or keep fewer gates and servers")
    }
    self.signal = signal
  }

  /// Whether it is open.
  public var isOpen: Bool { opened.state }

  /// Opens the gate. Opening an open gate does nothing.
  public func open() {
    let isFirst = opened.update { isOpen in
      defer { isOpen = true }
      return !isOpen
    }
    if isFirst { signal.raise() }
  }

  /// Suspends until the gate is open.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func wait() async throws {
    _ = try await opened.wait { $0 ? true : nil }
  }

  /// What `poll` finds readable once the gate is open, for a thread that watches a socket at the same time.
  var descriptor: Int32 { signal.descriptor }
}
