#if !canImport(Combine)
/// Takes values from a publisher, as many as it asks for.
public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
  /// What it takes.
  associatedtype Input
  /// The failures that it can be told.
  associatedtype Failure: Error

  /// Begins: the subscriber keeps the subscription, and asks it for values now or later.
  func receive(subscription: any Subscription)
  /// Takes one value, and returns how many more are wanted beside those asked for already.
  func receive(_ input: Input) -> Subscribers.Demand
  /// Ends: nothing comes after it.
  func receive(completion: Subscribers.Completion<Failure>)
}

/// The namespace of what subscribers are made of, as in Combine.
public enum Subscribers {}

/// The namespace of the publishers that operators make, as in Combine.
public enum Publishers {}

/// Something that can be stopped.
public protocol Cancellable {
  /// Stops it. A second call does nothing.
  func cancel()
}

/// The tie between a publisher and one subscriber.
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
  /// Asks for this many values more.
  func request(_ demand: Subscribers.Demand)
}

/// Who is who in a chain, for people who debug one.
public struct CombineIdentifier: Hashable, Sendable, CustomStringConvertible {
  private let identity: ObjectIdentifier

  /// Makes the identifier of an object.
  public init(_ object: AnyObject) { identity = ObjectIdentifier(object) }

  /// The address of the object.
  public var description: String { "\(identity)" }
}

/// Has an identifier for debugging; objects have theirs for nothing.
public protocol CustomCombineIdentifierConvertible {
  /// The identifier.
  var combineIdentifier: CombineIdentifier { get }
}

extension CustomCombineIdentifierConvertible where Self: AnyObject {
  /// The identity of the object.
  public var combineIdentifier: CombineIdentifier { CombineIdentifier(self) }
}
#endif
