#if !canImport(Darwin)
/// A property of a class with a publisher, `$name`, which delivers the current value and all later ones.
///
/// The new value is delivered before the property is changed, as in Combine: a subscriber that reads the property gets
/// the old value. In an ``ObservableObject``, `objectWillChange` delivers before both. The publisher never completes.
/// The property may be set and observed on any thread; the order of concurrent changes is undefined.
///
/// ```swift
/// final class Search: ObservableObject {
///   @Published var text = ""
///   @Published private(set) var isLong = false
///
///   init() {
///     $text.map { $0.count > 20 }.removeDuplicates().assign(to: &$isLong)
///   }
/// }
/// ```
@propertyWrapper
public struct Published<Value> {
  fileprivate var storage: PublishedStorage<Value>

  /// Makes a property with an initial value.
  public init(wrappedValue: Value) { storage = PublishedStorage(wrappedValue) }

  /// Makes a property with an initial value.
  public init(initialValue: Value) { self.init(wrappedValue: initialValue) }

  /// Not available in structures: a copy would share the publisher of its original.
  @available(*, unavailable, message: "@Published is only available on properties of classes")
  public var wrappedValue: Value {
    get { storage.value }
    set { storage.set(newValue) }
  }

  /// The value of the property of an object. Setting it delivers the new value, and then stores it.
  public static subscript<Object: AnyObject>(
    _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Published<Value>>
  ) -> Value {
    get { object[keyPath: storage].storage.value }
    set {
      let property = object[keyPath: storage].storage
      if property.willChange == nil { property.willChange = ObservableObjectPublisher.findUnattached(for: object) }
      property.set(newValue)
    }
  }

  /// The publisher of the values. It can be passed to `assign(to: &$name)`; setting it has no effect, as in Combine.
  public var projectedValue: Publisher {
    get { Publisher(subject: storage.subject, storage: storage) }
    set { _ = newValue }
  }

  /// Delivers the current value, and then every new one.
  public struct Publisher: MartletCombine.Publisher {
    /// A value of the property.
    public typealias Output = Value
    /// The publisher never fails.
    public typealias Failure = Never

    fileprivate let subject: CurrentValueSubject<Value, Never>
    /// Weak, because a publisher that sets the property may retain its publisher.
    fileprivate weak var storage: PublishedStorage<Value>?

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Value, S.Failure == Never {
      subject.receive(subscriber: subscriber)
    }
  }
}

extension Publisher where Failure == Never {
  /// Sets a published property to every value: `assign(to: &$name)`.
  ///
  /// The subscription is stored in the property, and cancelled with it. It does not retain the object of the property.
  public func assign(to published: inout Published<Output>.Publisher) { published.storage?.feed(from: self) }
}

/// The storage of a published property, shared by all copies of its wrapper.
private final class PublishedStorage<Value>: Sendable {
  private struct State {
    var value: Value
    var willChange: ObservableObjectPublisher?
    var feeds: [Int: AnyCancellable] = [:]
    var feedCount = 0
  }

  /// While a value is delivered, the subject already has it, and the property does not.
  let subject: CurrentValueSubject<Value, Never>
  private let state: Locked<State>

  init(_ value: Value) {
    subject = CurrentValueSubject(value, name: "PublishedSubject")
    state = Locked(State(value: value))
  }

  var value: Value { state.withLock { $0.value } }

  func set(_ value: Value) {
    state.withLock { $0.willChange }?.send()
    subject.send(value)
    let old = state.withLock { state in
      defer { state.value = value }
      return state.value
    }
    withExtendedLifetime(old) {}  // Released outside the lock, because deinitializers may call other code.
  }

  func feed<P: Publisher>(from publisher: P) where P.Output == Value, P.Failure == Never {
    let number = state.withLock { state in
      state.feedCount += 1
      return state.feedCount
    }
    let sink = Subscribers.Sink<Value, Never> { [weak self] _ in
      let ended = self?.state.withLock { $0.feeds.removeValue(forKey: number) }
      withExtendedLifetime(ended) {}
    } receiveValue: { [weak self] value in
      self?.set(value)
    }
    state.withLock { $0.feeds[number] = AnyCancellable(sink) }
    publisher.subscribe(sink)
  }
}

extension PublishedStorage {
  /// The publisher to notify before the value changes.
  var willChange: ObservableObjectPublisher? {
    get { state.withLock { $0.willChange } }
    set { state.withLock { $0.willChange = newValue } }
  }
}

extension Published: ObservedProperty {
  var willChange: ObservableObjectPublisher? { storage.willChange }

  func setPublisher(to publisher: ObservableObjectPublisher) { storage.willChange = publisher }
}
#endif
