#if !canImport(Combine)
public import Dispatch

/// Runs work now or later, somewhere: a dispatch queue, or at once where one stands.
///
/// Combine's protocol is richer; this is what the operators here need. Code that passes `DispatchQueue.main` or
/// `ImmediateScheduler.shared` compiles with both.
public protocol Scheduler: Sendable {
  /// Runs the work as soon as it can.
  func schedule(_ action: @escaping @Sendable () -> Void)
  /// Runs the work after a time.
  func schedule(after delay: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void)
}

extension DispatchQueue: Scheduler {
  /// Runs the work on the queue.
  public func schedule(_ action: @escaping @Sendable () -> Void) { async(execute: action) }

  /// Runs the work on the queue after a time.
  public func schedule(after delay: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void) {
    asyncAfter(deadline: .now() + delay, execute: action)
  }
}

/// Runs work at once, where one stands; it waits for nothing.
public struct ImmediateScheduler: Scheduler {
  /// The only one there needs to be.
  public static let shared = ImmediateScheduler()

  /// Runs the work at once.
  public func schedule(_ action: @escaping @Sendable () -> Void) { action() }

  /// Runs the work at once.
  public func schedule(after delay: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void) { action() }
}
#endif
