#if !canImport(Darwin)
/// A protocol of activities that can be cancelled.
public protocol Cancellable {
  /// Cancels the activity. Further calls have no effect.
  func cancel()
}

/// Cancels an activity when it is cancelled or released: keep it while the activity is needed.
public final class AnyCancellable: Cancellable, Hashable, Sendable {
  private let action: Locked<(() -> Void)?>

  /// Makes an object that calls the closure, at most once.
  public init(_ cancel: @escaping () -> Void) { action = Locked(cancel) }

  /// Makes an object that cancels another one.
  public init(_ cancellable: some Cancellable) { action = Locked { cancellable.cancel() } }

  public func cancel() { action.take()?() }

  deinit { cancel() }

  /// Appends this object to a collection.
  public func store<Collection: RangeReplaceableCollection>(
    in collection: inout Collection
  ) where Collection.Element == AnyCancellable { collection.append(self) }

  /// Inserts this object into a set.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  /// Compares identities.
  public static func == (left: AnyCancellable, right: AnyCancellable) -> Bool { left === right }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Cancellable {
  /// Inserts an object into a set, which cancels the activity when it is released.
  public func store(in set: inout Set<AnyCancellable>) { AnyCancellable(self).store(in: &set) }

  /// Appends an object to a collection, which cancels the activity when it is released.
  public func store<Collection: RangeReplaceableCollection>(
    in collection: inout Collection
  ) where Collection.Element == AnyCancellable { AnyCancellable(self).store(in: &collection) }
}
#endif
