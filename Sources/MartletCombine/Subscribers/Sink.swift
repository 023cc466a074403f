#if !canImport(Combine)
extension Publisher {
  /// Takes everything as it comes.
  ///
  /// - Returns: what must be kept as long as the values are wanted: letting it go cancels.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void, receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    let inlet = Inlet<Output, Failure> { value in
      receiveValue(value)
      return .none
    } onCompletion: {
      receiveCompletion($0)
    }
    inlet.request(.unlimited)
    receive(subscriber: inlet)
    return AnyCancellable { inlet.cancel() }
  }
}

extension Publisher where Failure == Never {
  /// Takes every value as it comes.
  ///
  /// - Returns: what must be kept as long as the values are wanted: letting it go cancels.
  public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }

  /// Sets a property of an object to every value. The object is kept alive until this is cancelled or completes.
  public func assign<Root: AnyObject>(
    to property: ReferenceWritableKeyPath<Root, Output>, on object: Root
  ) -> AnyCancellable {
    sink { object[keyPath: property] = $0 }
  }
}
#endif
