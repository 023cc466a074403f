#if !canImport(Combine)
extension Publisher {
  /// Attaches closures that receive the values and the completion.
  ///
  /// - Returns: an object that must be kept while values are to be received: releasing it cancels the subscription.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void, receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    let receiver = UpstreamSubscriber<Output, Failure> { value in
      receiveValue(value)
      return .none
    } onCompletion: {
      receiveCompletion($0)
    }
    receiver.request(.unlimited)
    receive(subscriber: receiver)
    return AnyCancellable { receiver.cancel() }
  }
}

extension Publisher where Failure == Never {
  /// Attaches a closure that receives the values.
  ///
  /// - Returns: an object that must be kept while values are to be received: releasing it cancels the subscription.
  public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }

  /// Sets a property of an object to every value. The object is retained until the subscription is cancelled or
  /// completes.
  public func assign<Root: AnyObject>(
    to property: ReferenceWritableKeyPath<Root, Output>, on object: Root
  ) -> AnyCancellable {
    sink { object[keyPath: property] = $0 }
  }
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
