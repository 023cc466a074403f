#if !canImport(Combine)
extension Publishers {
  /// What the operators make that look at one value after another: `map`, `filter`, `scan`, `first`, `replaceError` …
  public struct Relay<Upstream: Publisher, Output, Failure: Error>: Publisher {
    let upstream: Upstream
    /// Made anew for every subscriber, because a stage may remember what it saw.
    let makeStage: () -> Stage<Upstream.Output, Upstream.Failure, Output, Failure>

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let stage = makeStage()
      let upstreamSubscription = Forwarded()
      let inlet = Inlet<Upstream.Output, Upstream.Failure> { input in
        switch stage.onValue(input) {
        case .emit(let value): outlet.send(value)
        case .skip: return .max(1)
        case .emitLast(let value):
          upstreamSubscription.cancel()
          outlet.send(value, thenFinish: true)
        case .finish(let ending):
          upstreamSubscription.cancel()
          outlet.finish(ending)
        }
        return .none
      } onCompletion: { completion in
        switch stage.onCompletion(completion) {
        case .emitLast(let value): outlet.send(value, thenFinish: true)
        case .finish(let ending): outlet.finish(ending)
        }
      }
      upstreamSubscription.target = inlet
      outlet.connect(onDemand: { inlet.request($0) }, onCancel: { inlet.cancel() })
      subscriber.receive(subscription: outlet)
      upstream.receive(subscriber: inlet)
    }
  }

  /// Refers to an inlet from within its own closures.
  private final class Forwarded: Cancellable {
    weak var target: (any InletCancelling)?

    func cancel() { target?.cancel() }
  }
}

/// Something whose upstream can be given up.
protocol InletCancelling: AnyObject {
  func cancel()
}

extension Inlet: InletCancelling {}

/// One step of a chain: what becomes of a value, and of the end.
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
  func relay<T, F: Error>(_ makeStage: @escaping () -> Stage<Output, Failure, T, F>) -> Publishers.Relay<Self, T, F> {
    Publishers.Relay(upstream: self, makeStage: makeStage)
  }
}
#endif
