import CGTK

/// GTK's main loop, which owns the main thread. Swift's own queue of the main actor is not served here: other threads
/// return to the main thread with ``post(_:)``.
enum MainLoop {
  private final class Box: Sendable {
    let work: @MainActor @Sendable () -> Void
    init(_ work: @escaping @MainActor @Sendable () -> Void) { self.work = work }
  }

  /// Runs work on the main thread, soon, after everything that was posted before.
  static func post(_ work: @escaping @MainActor @Sendable () -> Void) {
    _ = g_idle_add_full(G_PRIORITY_DEFAULT, call, Unmanaged.passRetained(Box(work)).toOpaque(), release)
  }

  /// Runs work on the main thread after this number of milliseconds. Pass the returned number to ``cancel(_:)``.
  static func post(after milliseconds: UInt32, _ work: @escaping @MainActor @Sendable () -> Void) -> UInt32 {
    g_timeout_add_full(
      G_PRIORITY_DEFAULT, milliseconds, call, Unmanaged.passRetained(Box(work)).toOpaque(), release)
  }

  static func cancel(_ number: UInt32) { g_source_remove(number) }

  /// Runs work whenever the system sends the signal with this number.
  static func onSignal(_ number: Int32, _ work: @escaping @MainActor @Sendable () -> Void) {
    g_unix_signal_add_full(
      G_PRIORITY_DEFAULT, number, { data in MainLoop.run(data, again: 1) },
      Unmanaged.passRetained(Box(work)).toOpaque(), release)
  }

  private static let call: GSourceFunc = { data in MainLoop.run(data, again: 0) }

  private static let release: GDestroyNotify = { data in data.map { Unmanaged<Box>.fromOpaque($0).release() } }

  private static func run(_ data: UnsafeMutableRawPointer?, again: gboolean) -> gboolean {
    guard let data else { return 0 }
    let box = Unmanaged<Box>.fromOpaque(data).takeUnretainedValue()
    MainActor.assumeIsolated { box.work() }
    return again
  }
}
