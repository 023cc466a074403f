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

  /// The publisher of an object that does not show its properties, if it has been requested.
  static func findUnattached(for object: AnyObject) -> ObservableObjectPublisher? {
    guard hasUnattached.load(ordering: .relaxed) else { return nil }
    return unattached.withLock { $0.publisher(of: object) }
  }

  private static func observedProperties(of object: AnyObject) -> [any ObservedProperty] {
    sequence(first: Mirror(reflecting: object)) { $0.superclassMirror }
      .flatMap { $0.children.compactMap { $0.value as? any ObservedProperty } }
  }
}
#endif
