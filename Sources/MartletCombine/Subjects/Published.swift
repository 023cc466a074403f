#if !canImport(Combine)
/// A property that can be watched: `$name` is a publisher of its values, the current one first.
///
/// Unlike in Combine, the property has its new value when the publisher delivers it.
@propertyWrapper
public struct Published<Value> {
  private let subject: CurrentValueSubject<Value, Never>

  /// Makes a property with a first value.
  public init(wrappedValue: Value) { subject = CurrentValueSubject(wrappedValue) }

  /// Makes a property with a first value.
  public init(initialValue: Value) { self.init(wrappedValue: initialValue) }

  /// The value; setting it delivers it.
  public var wrappedValue: Value {
    get { subject.value }
    nonmutating set { subject.send(newValue) }
  }

  /// The publisher of the values.
  public var projectedValue: Publisher { Publisher(subject: subject) }

  /// Delivers the current value, and then every new one.
  public struct Publisher: MartletCombine.Publisher {
    /// A value of the property.
    public typealias Output = Value
    /// It never fails.
    public typealias Failure = Never

    fileprivate let subject: CurrentValueSubject<Value, Never>

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Value, S.Failure == Never {
      subject.receive(subscriber: subscriber)
    }
  }
}
#endif
