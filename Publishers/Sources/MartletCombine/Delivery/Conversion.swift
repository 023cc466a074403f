#if !canImport(Darwin)
/// The subscriber of an operator that only converts or skips values, or converts failures. Downstream gets upstream's
/// own subscription, so that such an operator costs no more than its conversion.
final class Conversion<Input, Failure: Error, Downstream: Subscriber>: Subscriber, CustomStringConvertible {
  /// Delivers what becomes of a value, and returns how many more are requested.
  typealias Step = (Input, Downstream) -> Subscribers.Demand

  let description: String
  private let downstream: Downstream
  private let isUnlimited: Bool
  private let step: Step
  private let convert: (Failure) -> Downstream.Failure

  init(
    _ name: String, to downstream: Downstream, isUnlimited: Bool = false,
    convert: @escaping (Failure) -> Downstream.Failure, step: @escaping Step
  ) {
    description = name
    self.downstream = downstream
    self.isUnlimited = isUnlimited
    self.convert = convert
    self.step = step
  }

  func receive(subscription: any Subscription) {
    downstream.receive(subscription: subscription)
    if isUnlimited { subscription.request(.unlimited) }
  }

  func receive(_ input: Input) -> Subscribers.Demand { step(input, downstream) }

  func receive(completion: Subscribers.Completion<Failure>) {
    switch completion {
    case .finished: downstream.receive(completion: .finished)
    case .failure(let error): downstream.receive(completion: .failure(convert(error)))
    }
  }
}

extension Publisher {
  /// Attaches a subscriber that receives converted values.
  ///
  /// - Parameter isUnlimited: whether all values are requested, in addition to what the subscriber requests.
  func subscribe<S: Subscriber>(
    _ subscriber: S, converting name: String, isUnlimited: Bool = false,
    step: @escaping Conversion<Output, Failure, S>.Step
  ) where S.Failure == Failure {
    subscribe(Conversion(name, to: subscriber, isUnlimited: isUnlimited, convert: { $0 }, step: step))
  }

  /// Attaches a subscriber that receives converted failures.
  func subscribe<S: Subscriber>(
    _ subscriber: S, convertingFailure name: String, _ convert: @escaping (Failure) -> S.Failure
  ) where S.Input == Output {
    subscribe(Conversion(name, to: subscriber, convert: convert, step: { $1.receive($0) }))
  }
}
#endif
