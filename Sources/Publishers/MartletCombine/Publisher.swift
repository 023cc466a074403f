#if canImport(Combine)
@_exported public import Combine
#else
/// Delivers values over time to subscribers that request them. The rules are those of Combine:
///
/// - No value is delivered before the subscriber has requested it, and never more than it has requested.
/// - Values are delivered one after another, never concurrently, whatever threads they come from.
/// - At most one completion is delivered, and nothing after it. Nothing is delivered after a cancellation, except a
///   value that is being delivered.
///
/// ```swift
/// let cancellable = TaskPublisher { try await session.data(for: request) }.map(\.0.count)
///   .sink { completion in print(completion) } receiveValue: { count in print(count) }
/// ```
public protocol Publisher<Output, Failure> {
  /// The output type.
  associatedtype Output
  /// The failure type; `Never` if it cannot fail.
  associatedtype Failure: Error

  /// Attaches a subscriber: gives it a subscription, with which it requests values and cancels.
  func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure
}

extension Publisher {
  /// Attaches a subscriber.
  public func subscribe<S: Subscriber>(_ subscriber: S) where S.Input == Output, S.Failure == Failure {
    receive(subscriber: subscriber)
  }

  /// Attaches a subject, which receives everything that this publisher delivers until the returned object is cancelled
  /// or released. The subject receives the subscription, and requests values through it.
  public func subscribe<S: Subject>(_ subject: S) -> AnyCancellable where S.Output == Output, S.Failure == Failure {
    let receiver = UpstreamSubscriber<Output, Failure> { value in
      subject.send(value)
      return .none
    } onCompletion: { completion in
      subject.send(completion: completion)
    }
    subject.send(subscription: receiver)
    receive(subscriber: receiver)
    return AnyCancellable { receiver.cancel() }
  }
}

/// Receives values from a publisher, as many as it requests.
public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
  /// The input type.
  associatedtype Input
  /// The type of failures that it can receive.
  associatedtype Failure: Error

  /// Receives the subscription. The subscriber keeps it to request values now or later.
  func receive(subscription: any Subscription)
  /// Receives a value, and returns how many more values it requests.
  func receive(_ input: Input) -> Subscribers.Demand
  /// Receives the completion. Nothing follows it.
  func receive(completion: Subscribers.Completion<Failure>)
}

/// The namespace of types related to subscribers, as in Combine.
public enum Subscribers {}

/// The namespace of the publishers that operators return, as in Combine.
public enum Publishers {}

/// A protocol of activities that can be cancelled.
public protocol Cancellable {
  /// Cancels the activity. Further calls have no effect.
  func cancel()
}

/// The connection between a publisher and one subscriber.
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
  /// Requests this many more values.
  func request(_ demand: Subscribers.Demand)
}

/// Identifies an object in a chain of publishers, for debugging.
public struct CombineIdentifier: Hashable, Sendable, CustomStringConvertible {
  private let identity: ObjectIdentifier

  /// Makes the identifier of an object.
  public init(_ object: AnyObject) { identity = ObjectIdentifier(object) }

  /// The address of the object.
  public var description: String { "\(identity)" }
}

/// A type with an identifier for debugging; objects have a default one.
public protocol CustomCombineIdentifierConvertible {
  /// The identifier.
  var combineIdentifier: CombineIdentifier { get }
}

extension CustomCombineIdentifierConvertible where Self: AnyObject {
  /// The identity of the object.
  public var combineIdentifier: CombineIdentifier { CombineIdentifier(self) }
}

extension Subscribers {
  /// The number of values that a subscriber requests.
  public struct Demand: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number; nil if it is unlimited.
    public let max: Int?

    /// Any number of values.
    public static let unlimited = Demand(max: nil)
    /// No values.
    public static let none = Demand(max: 0)

    /// This number of values. A negative number is a programming error and stops the program, as in Combine.
    public static func max(_ value: Int) -> Demand {
      precondition(value >= 0, "a demand of \(value) is invalid: request 0 or more")
      return Demand(max: value)
    }

    /// Adds demands. The sum with unlimited is unlimited.
    public static func + (left: Demand, right: Demand) -> Demand {
      guard let left = left.max, let right = right.max else { return .unlimited }
      let (sum, isTooLarge) = left.addingReportingOverflow(right)
      return isTooLarge ? .unlimited : Demand(max: sum)
    }

    /// Adds a number.
    public static func + (left: Demand, right: Int) -> Demand { left + .max(right) }

    /// Subtracts demands, with a minimum of none. Unlimited minus anything is unlimited.
    public static func - (left: Demand, right: Demand) -> Demand {
      guard let whole = left.max else { return .unlimited }
      return Demand(max: Swift.max(0, whole - (right.max ?? whole)))
    }

    /// Subtracts a number.
    public static func - (left: Demand, right: Int) -> Demand { left - .max(right) }

    /// Adds to the demand.
    public static func += (left: inout Demand, right: Demand) { left = left + right }

    /// Adds a number to the demand.
    public static func += (left: inout Demand, right: Int) { left = left + right }

    /// Subtracts from the demand.
    public static func -= (left: inout Demand, right: Demand) { left = left - right }

    /// Subtracts a number from the demand.
    public static func -= (left: inout Demand, right: Int) { left = left - right }

    /// Orders demands. Unlimited is greater than any number.
    public static func < (left: Demand, right: Demand) -> Bool {
      guard let number = left.max else { return false }
      return right.max.map { number < $0 } ?? true
    }

    /// `max(3)`, `unlimited`.
    public var description: String { max.map { "max(\($0))" } ?? "unlimited" }
  }

  /// How a publisher has completed.
  public enum Completion<Failure: Error> {
    /// Normally.
    case finished
    /// With an error.
    case failure(Failure)
  }
}

extension Subscribers.Completion: Sendable {}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}
#endif
