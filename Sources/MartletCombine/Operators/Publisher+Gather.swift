#if !canImport(Combine)
extension Publisher {
  /// Delivers the first value and completes.
  public func first() -> Publishers.Relay<Self, Output, Failure> { prefix(1) }

  /// Delivers the first value that fulfils the condition and completes.
  public func first(where condition: @escaping (Output) -> Bool) -> Publishers.Relay<Self, Output, Failure> {
    relay { Stage { condition($0) ? .emitLast($0) : .skip } }
  }

  /// Delivers the first values, at most so many, and completes.
  public func prefix(_ count: Int) -> Publishers.Relay<Self, Output, Failure> {
    relay {
      var rest = count
      return Stage { value in
        rest -= 1
        return rest > 0 ? .emit(value) : rest == 0 ? .emitLast(value) : .finish(.finished)
      }
    }
  }

  /// Delivers what comes after the first values.
  public func dropFirst(_ count: Int = 1) -> Publishers.Relay<Self, Output, Failure> {
    relay {
      var rest = count
      return Stage { value in
        rest -= 1
        return rest < 0 ? .emit(value) : .skip
      }
    }
  }

  /// Delivers the last value when it is known to be that.
  public func last() -> Publishers.Relay<Self, Output, Failure> {
    atEnd(Output?.none, { $0 = $1 }, result: { $0 })
  }

  /// Delivers all values at the end, in one array.
  public func collect() -> Publishers.Relay<Self, [Output], Failure> { atEnd([], { $0.append($1) }, result: { $0 }) }

  /// Delivers at the end what the closure made of all values.
  public func reduce<T>(
    _ initial: T, _ next: @escaping (T, Output) -> T
  ) -> Publishers.Relay<Self, T, Failure> {
    atEnd(initial, { $0 = next($0, $1) }, result: { $0 })
  }

  /// Delivers the number of values at the end.
  public func count() -> Publishers.Relay<Self, Int, Failure> { reduce(0) { count, _ in count + 1 } }

  /// Delivers no value, only the completion.
  public func ignoreOutput() -> Publishers.Relay<Self, Never, Failure> {
    relay { Stage { _ in .skip } }
  }

  /// Delivers the value if it would complete without one.
  public func replaceEmpty(with value: Output) -> Publishers.Relay<Self, Output, Failure> {
    relay {
      var isEmpty = true
      return Stage(
        onValue: { input in
          isEmpty = false
          return .emit(input)
        },
        onCompletion: { completion in
          if case .finished = completion, isEmpty { .emitLast(value) } else { .finish(completion) }
        })
    }
  }

  private func atEnd<State, T>(
    _ initial: State, _ next: @escaping (inout State, Output) -> Void, result: @escaping (State) -> T?
  ) -> Publishers.Relay<Self, T, Failure> {
    relay {
      var state = initial
      return Stage(
        onValue: { value in
          next(&state, value)
          return .skip
        },
        onCompletion: { completion in
          if case .finished = completion, let result = result(state) { .emitLast(result) } else { .finish(completion) }
        })
    }
  }
}
#endif
