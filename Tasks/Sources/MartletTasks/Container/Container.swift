import Synchronization

/// A thread-safe container of an app's dependencies, which tests can replace and reset.
///
/// ```swift
/// extension Container {
///   var cart: Dependency<any CartRepository> {
///     get { self[#function, default: .single { RemoteCart() }] }
///     set { self[#function] = newValue }
///   }
/// }
///
/// Container.shared.cart = .single { LocalCart() }
/// let cart = Container.shared.cart()
/// ```
public final class Container: Sendable {
  private static let global = Container()
  @TaskLocal private static var scoped: Container?

  private let dependencies = Mutex<[Key: any Sendable]>([:])
  private let parent: Container?

  /// The container of the app; within ``withOverrides(_:perform:)``, the container made there.
  public static var shared: Container { scoped ?? global }

  /// Makes an empty container, for example for a test.
  public init() { parent = nil }

  private init(over parent: Container) { self.parent = parent }

  /// The name of a dependency and the type of its value: modules that do not know each other may use the same name.
  private struct Key: Hashable {
    let name: String
    let type: ObjectIdentifier

    init(_ name: String, _ type: Any.Type) { (self.name, self.type) = (name, ObjectIdentifier(type)) }
  }

  /// The dependency with a name and type; if there is none, the default, which is then stored.
  ///
  /// An app declares a property for each dependency, as above; `#function` is its name. Dependencies of different types
  /// may have the same name.
  public subscript<Value>(
    name: String, default makeDefault: @autoclosure () -> Dependency<Value>
  ) -> Dependency<Value> {
    let key = Key(name, Value.self)
    if let found = find(key) as? Dependency<Value> { return found }
    let made = makeDefault()
    return dependencies.withLock { dependencies in
      let first = dependencies[key] as? Dependency<Value> ?? made
      dependencies[key] = first
      return first
    }
  }

  /// The dependency with a name and type.
  public subscript<Value>(name: String) -> Dependency<Value>? {
    get { find(Key(name, Value.self)) as? Dependency<Value> }
    set {
      let key = Key(name, Value.self)
      let replaced = dependencies.withLock { dependencies in
        defer { dependencies[key] = newValue }
        return dependencies[key]
      }
      _ = replaced  // Released here, outside the lock: its `deinit` may use the container.
    }
  }

  private func find(_ key: Key) -> (any Sendable)? {
    dependencies.withLock { $0[key] } ?? parent?.find(key)
  }

  /// Removes all dependencies, so that the defaults are used again.
  public func reset() {
    let removed = dependencies.withLock { dependencies in
      defer { dependencies = [:] }
      return dependencies
    }
    _ = removed  // Released here, outside the lock, as in the subscript.
  }

  /// Runs work for which ``shared`` is a new container with overrides, on top of the current one. Tests that run at the
  /// same time do not see them.
  public static func withOverrides<Result>(
    _ override: (Container) -> Void, perform work: () async throws -> Result
  ) async rethrows -> Result {
    let container = Container(over: shared)
    override(container)
    return try await $scoped.withValue(container) { try await work() }
  }
}

extension Container {
  /// The session that sends the requests of tasks; a ``StandardNetworkSession`` by default. Tests replace it with
  /// `MockSession.install()` of `MartletTasksTesting`.
  public var networkSession: Dependency<any NetworkSession> {
    get { self["networkSession", default: .single { StandardNetworkSession() }] }
    set { self["networkSession"] = newValue }
  }

  /// The authenticator of requests; none by default.
  public var authenticator: Dependency<(any Authenticator)?> {
    get { self["authenticator", default: .single { nil }] }
    set { self["authenticator"] = newValue }
  }

  /// The environment: base URL, common headers, signature.
  public var environment: Dependency<NetworkEnvironment> {
    get { self["environment", default: .single { NetworkEnvironment() }] }
    set { self["environment"] = newValue }
  }
}

/// A dependency that is made each time, or once and kept.
public struct Dependency<Value: Sendable>: Sendable {
  private let resolve: @Sendable () -> Value
  private let isKept: Bool

  /// Returns the dependency.
  public func callAsFunction() -> Value { resolve() }

  /// A dependency that is made each time.
  public static func factory(_ make: @escaping @Sendable () -> Value) -> Dependency {
    Dependency(resolve: make, isKept: false)
  }

  /// A dependency that is made when it is first resolved, and kept. If several threads resolve it at the same time,
  /// they get the same value. The closure may run for each of them: it runs without a lock, so that it can resolve
  /// other dependencies.
  public static func single(_ make: @escaping @Sendable () -> Value) -> Dependency {
    let kept = Kept<Value>()
    return Dependency(resolve: { kept.value(make) }, isKept: true)
  }

  /// Wraps the dependency: `Container.shared.networkSession.decorate { Logged($0) }`. If it was made each time, it
  /// still is.
  public mutating func decorate(_ decoration: @escaping @Sendable (Value) -> Value) {
    let decorated: @Sendable () -> Value = { [resolve] in decoration(resolve()) }
    self = isKept ? .single(decorated) : .factory(decorated)
  }
}

/// A value that is made once. It is made outside the lock, because making it may resolve other dependencies.
private final class Kept<Value: Sendable>: Sendable {
  private let kept = Mutex<Value?>(nil)

  func value(_ make: () -> Value) -> Value {
    if let value = kept.withLock({ $0 }) { return value }
    let made = make()
    return kept.withLock { kept in
      let first = kept ?? made
      kept = first
      return first
    }
  }
}

extension Container {
  /// A group of dependencies, which an app declares:
  ///
  /// ```swift
  /// extension Container.Group<Container.Mappers> {
  ///   var price: Dependency<any PriceMapper> {
  ///     get { self[#function, default: .single { RoundedPrice() }] }
  ///     set { self[#function] = newValue }
  ///   }
  /// }
  ///
  /// Container.shared.mappers.price = .single { ExactPrice() }
  /// ```
  ///
  /// Each group has its own names.
  public final class Group<Kind>: Sendable {
    private let container: Container

    init(of container: Container) { self.container = container }

    /// The dependency with a name and type, or the default; see the container's.
    public subscript<Value>(
      name: String, default makeDefault: @autoclosure () -> Dependency<Value>
    ) -> Dependency<Value> { container["\(Kind.self).\(name)", default: makeDefault()] }

    /// The dependency with a name and type.
    public subscript<Value>(name: String) -> Dependency<Value>? {
      get { container["\(Kind.self).\(name)"] }
      set { container["\(Kind.self).\(name)"] = newValue }
    }
  }

  /// Conversion of a service's values to an app's.
  public enum Mappers {}
  /// Sources of values.
  public enum Repositories {}
  /// Work for the whole app.
  public enum Services {}
  /// Navigation between screens.
  public enum Coordinators {}
  /// The content of screens.
  public enum DataSources {}
  /// Screens.
  public enum Views {}

  /// The app's mappers.
  public var mappers: Group<Mappers> { Group(of: self) }
  /// The app's repositories.
  public var repositories: Group<Repositories> { Group(of: self) }
  /// The app's services.
  public var services: Group<Services> { Group(of: self) }
  /// The app's coordinators.
  public var coordinators: Group<Coordinators> { Group(of: self) }
  /// The app's data sources.
  public var dataSources: Group<DataSources> { Group(of: self) }
  /// The app's views.
  public var views: Group<Views> { Group(of: self) }
}
