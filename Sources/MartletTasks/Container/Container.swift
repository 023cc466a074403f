import Synchronization

/// Where an app says which implementation it uses: thread-safe, replaceable, resettable.
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

  private let dependencies = Mutex<[String: any Sendable]>([:])
  private let parent: Container?

  /// The container of the app; within ``withOverrides(_:perform:)`` the one that is made there.
  public static var shared: Container { scoped ?? global }

  /// Makes an empty container, of a test's own.
  public init() { parent = nil }

  private init(over parent: Container) { self.parent = parent }

  /// The dependency of that name, or the default, which is then kept.
  ///
  /// An app declares a property for each, as above; `#function` is its name. Another type under the same name counts as
  /// nothing.
  public subscript<Value>(
    name: String, default makeDefault: @autoclosure () -> Dependency<Value>
  ) -> Dependency<Value> {
    if let found = find(name) as? Dependency<Value> { return found }
    let made = makeDefault()
    return dependencies.withLock { dependencies in
      let first = dependencies[name] as? Dependency<Value> ?? made
      dependencies[name] = first
      return first
    }
  }

  /// Sets the dependency of that name.
  public subscript<Value>(name: String) -> Dependency<Value>? {
    get { find(name) as? Dependency<Value> }
    set { dependencies.withLock { $0[name] = newValue } }
  }

  private func find(_ name: String) -> (any Sendable)? {
    dependencies.withLock { $0[name] } ?? parent?.find(name)
  }

  /// Forgets everything that was set: the defaults hold again.
  public func reset() { dependencies.withLock { $0 = [:] } }

  /// Runs work in which ``shared`` is a container of its own over this one: what is set there ends with the work, and
  /// other tests that run at the same time see nothing of it.
  public static func withOverrides<Result>(
    _ override: (Container) -> Void, perform work: () async throws -> Result
  ) async rethrows -> Result {
    let container = Container(over: shared)
    override(container)
    return try await $scoped.withValue(container) { try await work() }
  }
}

extension Container {
  /// Who sends the requests of tasks: a ``StandardNetworkSession``; while tests run that have `MartletTasksTesting`, the shared
  /// `MockSession`.
  public var networkSession: Dependency<any NetworkSession> {
    get { self["networkSession", default: .single(Self.makeSession)] }
    set { self["networkSession"] = newValue }
  }

  /// Who authorises requests; none by default.
  public var authenticator: Dependency<(any Authenticator)?> {
    get { self["authenticator", default: .single { nil }] }
    set { self["authenticator"] = newValue }
  }

  /// Where the paths of requests begin.
  public var environment: Dependency<NetworkEnvironment> {
    get { self["environment", default: .single { NetworkEnvironment() }] }
    set { self["environment"] = newValue }
  }

  private static func makeSession() -> any NetworkSession {
    let provider = _typeByName("19MartletTasksTesting11MockSessionC") as? any TestSessionProvider.Type
    return provider?.session ?? StandardNetworkSession()
  }
}

/// What takes the session's place in tests, in a module that only tests have. It is found by its name, so that linking the module
/// is all there is to do, and nothing else in a process can have that effect.
package protocol TestSessionProvider {
  /// The session, nil where no tests run.
  static var session: (any NetworkSession)? { get }
}
