#if !canImport(Combine)
/// A property of a class that can be watched: `$name` is a publisher of its values, the current one first.
///
/// The new value is delivered before the property has it, as in Combine: a subscriber that reads the property finds the old
/// one. In an ``ObservableObject``, `objectWillChange` comes before both. The publisher never completes. Setting and watching
/// may happen in any thread; two threads that set one property at the same time do so in an order of their own.
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

  /// Makes a property with a first value.
  public init(wrappedValue: Value) { storage = PublishedStorage(wrappedValue) }

  /// Makes a property with a first value.
  public init(initialValue: Value) { self.init(wrappedValue: initialValue) }

  /// Not for structures: a copy would be watched along with its original.
  @available(*, unavailable, message: "@Published is only available on properties of classes")
  public var wrappedValue: Value {
    get { storage.value }
    set { storage.set(newValue) }
  }

  /// The value of an object's property; setting it delivers it, and then stores it.
  public static subscript<Object: AnyObject>(
    _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Published<Value>>
  ) -> Value {
    get { object[keyPath: storage].storage.value }
    set { object[keyPath: storage].storage.set(newValue) }
  }

  /// The publisher of the values. It may be set so that `assign(to: &$name)` can be written.
  public var projectedValue: Publisher {
    get { Publisher(subject: storage.subject, storage: storage) }
    set { if let other = newValue.storage { storage = other } }
  }

  /// Delivers the current value, and then every new one.
  public struct Publisher: MartletCombine.Publisher {
    /// A value of the property.
    public typealias Output = Value
    /// It never fails.
    public typealias Failure = Never

    fileprivate let subject: CurrentValueSubject<Value, Never>
    /// Weak: what a property is fed from may hold its publisher.
    fileprivate weak var storage: PublishedStorage<Value>?

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Value, S.Failure == Never {
      subject.receive(subscriber: subscriber)
    }
  }
}

extension Publisher where Failure == Never {
  /// Sets a published property to every value: `assign(to: &$name)`.
  ///
  /// The property keeps the subscription, which is cancelled with it. There is nothing to keep, and nothing that keeps the
  /// property's object alive.
  public func assign(to published: inout Published<Output>.Publisher) { published.storage?.feed(from: self) }
}

/// What a published property is, in one place for all copies of its wrapper.
private final class PublishedStorage<Value>: Sendable {
  private struct State {
    var value: Value
    var willChange: ObservableObjectPublisher?
    var feeds: [ObjectIdentifier: AnyCancellable] = [:]
  }

  /// Is ahead of the property while a new value is delivered.
  let subject: CurrentValueSubject<Value, Never>
  private let state: Guarded<State>

  init(_ value: Value) {
    subject = CurrentValueSubject(value)
    state = Guarded(State(value: value))
  }

  var value: Value { state.withLock { $0.value } }

  func set(_ value: Value) {
    state.withLock { $0.willChange }?.send()
    subject.send(value)
    let old = state.withLock { state in
      defer { state.value = value }
      return state.value
    }
    withExtendedLifetime(old) {}  // its end may call out, and must not do that under the lock
  }

  func feed<P: Publisher>(from publisher: P) where P.Output == Value, P.Failure == Never {
    let box = Box<Inlet<Value, Never>>()
    let inlet = Inlet<Value, Never> { [weak self] value in
      self?.set(value)
      return .none
    } onCompletion: { [weak self] _ in
      if let inlet = box.content { _ = self?.state.withLock { $0.feeds.removeValue(forKey: ObjectIdentifier(inlet)) } }
    }
    box.content = inlet
    state.withLock { $0.feeds[ObjectIdentifier(inlet)] = AnyCancellable { inlet.cancel() } }
    inlet.request(.unlimited)
    publisher.receive(subscriber: inlet)
  }
}

extension PublishedStorage {
  /// Who is told before a value changes.
  var willChange: ObservableObjectPublisher? {
    get { state.withLock { $0.willChange } }
    set { state.withLock { $0.willChange = newValue } }
  }
}

extension Published: AnnouncedProperty {
  var willChange: ObservableObjectPublisher? { storage.willChange }

  func announce(to publisher: ObservableObjectPublisher) { storage.willChange = publisher }
}
#endif
