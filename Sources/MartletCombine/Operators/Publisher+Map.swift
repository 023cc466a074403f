#if !canImport(Combine)
extension Publisher {
  /// Delivers what the closure makes of each value.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Relay<Self, T, Failure> {
    relay { Stage { .emit(transform($0)) } }
  }

  /// Delivers what the closure makes of each value; fails with what it throws.
  public func tryMap<T>(_ transform: @escaping (Output) throws -> T) -> Publishers.Relay<Self, T, any Error> {
    relay { Stage(trying: { .emit(try transform($0)) }) }
  }

  /// Delivers what the closure makes of each value, where it makes something.
  public func compactMap<T>(_ transform: @escaping (Output) -> T?) -> Publishers.Relay<Self, T, Failure> {
    relay { Stage { transform($0).map { .emit($0) } ?? .skip } }
  }

  /// Delivers what the closure makes of each value, where it makes something; fails with what it throws.
  public func tryCompactMap<T>(_ transform: @escaping (Output) throws -> T?) -> Publishers.Relay<Self, T, any Error> {
    relay { Stage(trying: { try transform($0).map { .emit($0) } ?? .skip }) }
  }

  /// Delivers the values that fulfil the condition.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.Relay<Self, Output, Failure> {
    relay { Stage { isIncluded($0) ? .emit($0) : .skip } }
  }

  /// Delivers the values that fulfil the condition; fails with what it throws.
  public func tryFilter(_ isIncluded: @escaping (Output) throws -> Bool) -> Publishers.Relay<Self, Output, any Error> {
    relay { Stage(trying: { try isIncluded($0) ? .emit($0) : .skip }) }
  }

  /// Delivers the value instead of nil.
  public func replaceNil<T>(with value: T) -> Publishers.Relay<Self, T, Failure> where Output == T? {
    map { $0 ?? value }
  }

  /// Leaves out a value that equals the one before it.
  public func removeDuplicates() -> Publishers.Relay<Self, Output, Failure> where Output: Equatable {
    removeDuplicates(by: ==)
  }

  /// Leaves out a value that the closure calls equal to the one before it.
  public func removeDuplicates(
    by isEqual: @escaping (Output, Output) -> Bool
  ) -> Publishers.Relay<Self, Output, Failure> {
    relay {
      var last: Output?
      return Stage { value in
        if let last, isEqual(last, value) { return .skip }
        last = value
        return .emit(value)
      }
    }
  }

  /// Delivers what the closure makes of each value and of what it made before.
  public func scan<T>(
    _ initial: T, _ next: @escaping (T, Output) -> T
  ) -> Publishers.Relay<Self, T, Failure> {
    relay {
      var result = initial
      return Stage { value in
        result = next(result, value)
        return .emit(result)
      }
    }
  }

  /// Fails, where it fails, with what the closure makes of the error.
  public func mapError<E: Error>(_ transform: @escaping (Failure) -> E) -> Publishers.Relay<Self, Output, E> {
    relay {
      Stage(
        onValue: { .emit($0) },
        onCompletion: { completion in
          switch completion {
          case .finished: .finish(.finished)
          case .failure(let error): .finish(.failure(transform(error)))
          }
        })
    }
  }

  /// Delivers the value and completes where it would fail.
  public func replaceError(with value: Output) -> Publishers.Relay<Self, Output, Never> {
    relay {
      Stage(
        onValue: { .emit($0) },
        onCompletion: { completion in
          if case .failure = completion { .emitLast(value) } else { .finish(.finished) }
        })
    }
  }

  /// Watches what passes by, and changes nothing.
  public func handleEvents(
    receiveSubscription: ((any Subscription) -> Void)? = nil, receiveOutput: ((Output) -> Void)? = nil,
    receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil, receiveCancel: (() -> Void)? = nil,
    receiveRequest: ((Subscribers.Demand) -> Void)? = nil
  ) -> Publishers.HandleEvents<Self> {
    Publishers.HandleEvents(
      upstream: self, onSubscription: receiveSubscription, onOutput: receiveOutput, onCompletion: receiveCompletion,
      onCancel: receiveCancel, onRequest: receiveRequest)
  }
}

extension Publisher where Failure == Never {
  /// Gives a publisher that cannot fail a type of failure, to fit others.
  public func setFailureType<E: Error>(to type: E.Type) -> Publishers.Relay<Self, Output, E> {
    relay { Stage(onValue: { .emit($0) }, onCompletion: { _ in .finish(.finished) }) }
  }
}
#endif
