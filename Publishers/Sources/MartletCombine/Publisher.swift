#if canImport(Darwin)
@_exported public import Combine
#else
import Synchronization

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

extension Subscriber where Input == Void {
  /// Receives an empty value, and returns how many more values it requests.
  public func receive() -> Subscribers.Demand { receive(()) }
}

/// The namespace of types related to subscribers, as in Combine.
public enum Subscribers {}

/// The namespace of the publishers that operators return, as in Combine.
public enum Publishers {}

/// The connection between a publisher and one subscriber.
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
  /// Requests this many more values.
  func request(_ demand: Subscribers.Demand)
}

/// Identifies a subscriber or subscription, for debugging.
public struct CombineIdentifier: Hashable, Sendable, CustomStringConvertible {
  private enum Identity: Hashable {
    case object(ObjectIdentifier)
    case number(UInt64)
  }

  private static let count = Atomic<UInt64>(0)
  private let identity: Identity

  /// Makes an identifier that no other has: a value type keeps it in a property.
  public init() { identity = .number(Self.count.add(1, ordering: .relaxed).newValue) }

  /// Makes the identifier of an object: the same one each time.
  public init(_ object: AnyObject) { identity = .object(ObjectIdentifier(object)) }

  /// The address of the object, or the number.
  public var description: String {
    switch identity {
    case .object(let object): "0x" + String(UInt(bitPattern: object), radix: 16)
    case .number(let number): "0x" + String(number, radix: 16)
    }
  }
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
#endif
