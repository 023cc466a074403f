#if !canImport(Darwin)
import Synchronization

/// How far a link of a chain is, and how many calls are using its contents, in one atomic word. Each call enters before
/// it touches the contents, and the last call that leaves after the end releases them. This costs less than a lock,
/// and lets other code be called in between.
struct LinkState: ~Copyable, Sendable {
  /// The events in the life of a link.
  struct Flags: OptionSet {
    let rawValue: Int

    /// A subscription has arrived. Only the first one counts.
    static let claimed = Flags(rawValue: 1)
    /// The link has its subscription.
    static let open = Flags(rawValue: 2)
    /// Upstream delivers nothing more, or nothing that is wanted.
    static let drained = Flags(rawValue: 4)
    /// Downstream has requested something.
    static let requested = Flags(rawValue: 8)
    /// A last value waits for a request.
    static let pending = Flags(rawValue: 16)
    /// Nothing is delivered any more.
    static let closed = Flags(rawValue: 32)
  }

  private static let call = 64
  private let word = Atomic(0)

  var flags: Flags { Flags(rawValue: word.load(ordering: .acquiring) & (Self.call - 1)) }

  /// Sets flags.
  ///
  /// - Returns: the flags before.
  @discardableResult
  func set(_ flags: Flags) -> Flags {
    let old = word.bitwiseOr(flags.rawValue, ordering: .acquiringAndReleasing).oldValue
    return Flags(rawValue: old & (Self.call - 1))
  }

  /// Begins a call, unless one of these flags is set or the link is not open. Each success needs a ``leave()``.
  func enter(unless flags: Flags) -> Bool {
    var old = word.load(ordering: .relaxed)
    while old & flags.rawValue == 0, old & Flags.open.rawValue != 0 {
      let (isDone, now) = word.weakCompareExchange(
        expected: old, desired: old + Self.call, ordering: .acquiringAndReleasing)
      if isDone { return true }
      old = now
    }
    return false
  }

  /// Ends a call.
  ///
  /// - Returns: whether it was the last one after the end, which releases the contents.
  func leave() -> Bool {
    let now = word.subtract(Self.call, ordering: .acquiringAndReleasing).newValue
    return now < Self.call && now & Flags.closed.rawValue != 0
  }
}
#endif
