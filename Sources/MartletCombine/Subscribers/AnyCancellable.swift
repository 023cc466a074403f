#if !canImport(Combine)
/// Stops something when it is cancelled, or when it is let go: keep it as long as the work is wanted.
public final class AnyCancellable: Cancellable, Hashable, Sendable {
  private let action: Guarded<(() -> Void)?>

  /// Makes one from what is to be done, at most once.
  public init(_ cancel: @escaping () -> Void) { action = Guarded(cancel) }

  /// Makes one from another cancellable.
  public init(_ cancellable: some Cancellable) { action = Guarded { cancellable.cancel() } }

  public func cancel() { action.take()?() }

  deinit { cancel() }

  /// Keeps this in a collection.
  public func store<Collection: RangeReplaceableCollection>(
    in collection: inout Collection
  ) where Collection.Element == AnyCancellable { collection.append(self) }

  /// Keeps this in a set.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  /// Identity.
  public static func == (left: AnyCancellable, right: AnyCancellable) -> Bool { left === right }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Cancellable {
  /// Keeps this in a set, to be cancelled when the set lets go.
  public func store(in set: inout Set<AnyCancellable>) { AnyCancellable(self).store(in: &set) }

  /// Keeps this in a collection, to be cancelled when the collection lets go.
  public func store<Collection: RangeReplaceableCollection>(
    in collection: inout Collection
  ) where Collection.Element == AnyCancellable { AnyCancellable(self).store(in: &collection) }
}
#endif
