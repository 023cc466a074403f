package import Dispatch

#if canImport(Darwin)
import Darwin
#endif

/// Watches signals, which then no longer end the process.
@MainActor
package enum SignalWatch {
  /// Begins to watch a signal. After the return, each such signal is reported to `handler`, on the main queue. Before,
  /// a signal has its usual effect.
  ///
  /// Dispatch registers a source on a thread of its own, on a busy computer some time after it was resumed. Until then,
  /// the signal must not be ignored: on Linux it would be lost, because only that registration ends the ignoring.
  package static func begin(
    _ number: Int32, _ handler: @escaping @Sendable () -> Void
  ) async -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setEventHandler(handler: handler)
    await withCheckedContinuation { registered in
      source.setRegistrationHandler { registered.resume() }
      source.resume()
    }
    #if canImport(Darwin)
    // There a source only observes: the signal would still end the process.
    signal(number, SIG_IGN)
    #endif
    return source
  }
}
