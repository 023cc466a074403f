#if !canImport(Combine)
/// One step of a chain that looks at one value after another: what becomes of a value, and of the end.
struct Stage<Input, InputFailure: Error, Output, Failure: Error> {
  enum OnValue {
    case emit(Output)
    case skip
    case emitLast(Output)
    case finish(Subscribers.Completion<Failure>)
  }

  enum OnCompletion {
    case finish(Subscribers.Completion<Failure>)
    case emitLast(Output)
  }

  let onValue: (Input) -> OnValue
  let onCompletion: (Subscribers.Completion<InputFailure>) -> OnCompletion
}

extension Stage where InputFailure == Failure {
  /// A stage that lets the end pass as it is.
  init(_ onValue: @escaping (Input) -> OnValue) {
    self.init(onValue: onValue, onCompletion: { .finish($0) })
  }

  /// A stage that delivers at most one value, at the end, made of all values before.
  static func atEnd<State>(
    _ initial: State, _ next: @escaping (inout State, Input) -> Void, result: @escaping (State) -> Output?
  ) -> Stage {
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

extension Stage where Failure == any Error {
  /// A stage that may throw, after which it fails.
  init(trying onValue: @escaping (Input) throws -> OnValue) {
    self.init(
      onValue: { input in
        do { return try onValue(input) } catch { return .finish(.failure(error)) }
      },
      onCompletion: { completion in
        switch completion {
        case .finished: .finish(.finished)
        case .failure(let error): .finish(.failure(error))
        }
      })
  }
}

extension Publisher {
  /// Attaches a subscriber through a stage. The stage is the subscription's own, because it may remember what it saw.
  func relay<S: Subscriber>(to subscriber: S, through stage: Stage<Output, Failure, S.Input, S.Failure>) {
    let outlet = Outlet<S.Input, S.Failure>(to: subscriber)
    let upstream = Box<Inlet<Output, Failure>>()
    let inlet = Inlet<Output, Failure> { input in
      switch stage.onValue(input) {
      case .emit(let value): outlet.send(value)
      case .skip: return .max(1)
      case .emitLast(let value):
        upstream.content?.cancel()
        outlet.send(value, thenFinish: true)
      case .finish(let ending):
        upstream.content?.cancel()
        outlet.finish(ending)
      }
      return .none
    } onCompletion: { completion in
      switch stage.onCompletion(completion) {
      case .emitLast(let value): outlet.send(value, thenFinish: true)
      case .finish(let ending): outlet.finish(ending)
      }
    }
    upstream.content = inlet
    outlet.connect(onDemand: { inlet.request($0) }, onCancel: { inlet.cancel() })
    subscriber.receive(subscription: outlet)
    receive(subscriber: inlet)
  }
}

/// Refers weakly to an object that is made after the closures that need it.
final class Box<Content: AnyObject> {
  weak var content: Content?
}
#endif
