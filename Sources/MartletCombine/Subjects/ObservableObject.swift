#if !canImport(Combine)
/// An object that says when it is about to change.
///
/// A class that names no publisher of its own gets one that delivers before any of its ``Published`` properties changes,
/// those of its superclasses too. Where there are none, it delivers what is sent by hand: `objectWillChange.send()`.
public protocol ObservableObject<ObjectWillChangePublisher>: AnyObject {
  /// What says that the object is about to change.
  associatedtype ObjectWillChangePublisher: Publisher = ObservableObjectPublisher
  where ObjectWillChangePublisher.Failure == Never

  /// Delivers before the object changes.
  var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
  /// Delivers before a ``Published`` property of the object changes. It is the same for all who ask.
  public var objectWillChange: ObservableObjectPublisher { ObservableObjectPublisher.find(for: self) }
}

/// Says that something is about to change.
public final class ObservableObjectPublisher: Publisher, Sendable {
  /// There is no value but the fact.
  public typealias Output = Void
  /// It never fails.
  public typealias Failure = Never

  private let subject = PassthroughSubject<Void, Never>()

  /// Makes a publisher without subscribers.
  public init() {}

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Void, S.Failure == Never {
    subject.receive(subscriber: subscriber)
  }

  /// Says it to all subscribers.
  public func send() { subject.send() }
}

/// A property that tells a publisher before it changes.
protocol AnnouncedProperty {
  var willChange: ObservableObjectPublisher? { get }
  func announce(to publisher: ObservableObjectPublisher)
}

extension ObservableObjectPublisher {
  /// The publishers of objects without published properties, which have no other place for them.
  private struct Unattached {
    private struct Entry {
      weak var object: AnyObject?
      let publisher: ObservableObjectPublisher
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var nextSweep = 64

    mutating func publisher(of object: AnyObject) -> ObservableObjectPublisher {
      let id = ObjectIdentifier(object)
      if let entry = entries[id], entry.object === object { return entry.publisher }
      if entries.count >= nextSweep {
        entries = entries.filter { $0.value.object != nil }
        nextSweep = Swift.max(64, entries.count * 2)
      }
      let publisher = ObservableObjectPublisher()
      entries[id] = Entry(object: object, publisher: publisher)
      return publisher
    }
  }

  private static let unattached = Guarded(Unattached())

  /// The publisher of an object, which its published properties keep.
  fileprivate static func find(for object: AnyObject) -> ObservableObjectPublisher {
    let properties = announcedProperties(of: object)
    return unattached.withLock { unattached in
      guard !properties.isEmpty else { return unattached.publisher(of: object) }
      let publisher = properties.lazy.compactMap(\.willChange).first ?? ObservableObjectPublisher()
      for property in properties where property.willChange == nil { property.announce(to: publisher) }
      return publisher
    }
  }

  private static func announcedProperties(of object: AnyObject) -> [any AnnouncedProperty] {
    sequence(first: Mirror(reflecting: object)) { $0.superclassMirror }
      .flatMap { $0.children.compactMap { $0.value as? any AnnouncedProperty } }
  }
}
#endif
