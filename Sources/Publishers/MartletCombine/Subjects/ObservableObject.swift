#if !canImport(Darwin)
import Synchronization

/// An object with a publisher that delivers before the object changes.
///
/// By default, the publisher delivers before any of the ``Published`` properties changes, including those of
/// superclasses. Without such properties, it delivers when `objectWillChange.send()` is called.
public protocol ObservableObject<ObjectWillChangePublisher>: AnyObject {
  /// The type of the publisher.
  associatedtype ObjectWillChangePublisher: Publisher = ObservableObjectPublisher
  where ObjectWillChangePublisher.Failure == Never

  /// Delivers before the object changes.
  var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
  /// Delivers before a ``Published`` property of the object changes. All callers get the same publisher.
  public var objectWillChange: ObservableObjectPublisher { ObservableObjectPublisher.find(for: self) }
}

/// A publisher that delivers before an object changes.
public final class ObservableObjectPublisher: Publisher, Sendable {
  /// The values contain no information.
  public typealias Output = Void
  /// The publisher never fails.
  public typealias Failure = Never

  private let subject = PassthroughSubject<Void, Never>(name: "ObservableObjectPublisher")

  /// Makes a publisher without subscribers.
  public init() {}

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Void, S.Failure == Never {
    subject.receive(subscriber: subscriber)
  }

  /// Delivers to all subscribers.
  public func send() { subject.send() }
}

/// A property that notifies a publisher before it changes.
protocol ObservedProperty {
  var willChange: ObservableObjectPublisher? { get }
  func setPublisher(to publisher: ObservableObjectPublisher)
}

extension ObservableObjectPublisher {
  /// The publishers of objects that show no published properties in which to store them: because they have none, or
  /// because a mirror of their own hides them.
  private struct Unattached {
    private struct Entry {
      weak var object: AnyObject?
      let publisher: ObservableObjectPublisher
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var nextCleanUp = 64

    func publisher(of object: AnyObject) -> ObservableObjectPublisher? {
      guard let entry = entries[ObjectIdentifier(object)], entry.object === object else { return nil }
      return entry.publisher
    }

    mutating func set(_ publisher: ObservableObjectPublisher, for object: AnyObject) {
      if entries.count >= nextCleanUp {
        entries = entries.filter { $0.value.object != nil }
        nextCleanUp = Swift.max(64, entries.count * 2)
      }
      entries[ObjectIdentifier(object)] = Entry(object: object, publisher: publisher)
    }
  }

  private static let unattached = Locked(Unattached())
  /// Whether any object has an unattached publisher: most programs never look for one.
  private static let hasUnattached = Atomic(false)

  /// Returns the publisher of an object, which is stored in its published properties.
  fileprivate static func find(for object: AnyObject) -> ObservableObjectPublisher {
    let properties = observedProperties(of: object)
    let isHidden = properties.isEmpty || object is any CustomReflectable
    return unattached.withLock { unattached in
      let known = properties.lazy.compactMap(\.willChange).first ?? unattached.publisher(of: object)
      let publisher = known ?? ObservableObjectPublisher()
      for property in properties where property.willChange == nil { property.setPublisher(to: publisher) }
      if isHidden {
        unattached.set(publisher, for: object)
        hasUnattached.store(true, ordering: .relaxed)
      }
      return publisher
    }
  }

  /// The publisher of an object that does not show its properties, if somebody has asked for it.
  fileprivate static func findUnattached(for object: AnyObject) -> ObservableObjectPublisher? {
    guard hasUnattached.load(ordering: .relaxed) else { return nil }
    return unattached.withLock { $0.publisher(of: object) }
  }

  private static func observedProperties(of object: AnyObject) -> [any ObservedProperty] {
    sequence(first: Mirror(reflecting: object)) { $0.superclassMirror }
      .flatMap { $0.children.compactMap { $0.value as? any ObservedProperty } }
  }
}

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

  /// The property already has the new value while it is delivered.
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
