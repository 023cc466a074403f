extension Container {
  /// The dependencies of one kind, which an app declares:
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
  /// Names of one group mean nothing to the others.
  public final class Group<Kind>: Sendable {
    private let container: Container

    init(of container: Container) { self.container = container }

    /// The dependency of that name, or the default; as the container's.
    public subscript<Value>(
      name: String, default makeDefault: @autoclosure () -> Dependency<Value>
    ) -> Dependency<Value> { container["\(Kind.self).\(name)", default: makeDefault()] }

    /// Sets the dependency of that name.
    public subscript<Value>(name: String) -> Dependency<Value>? {
      get { container["\(Kind.self).\(name)"] }
      set { container["\(Kind.self).\(name)"] = newValue }
    }
  }

  /// What makes an app's values of a service's.
  public enum Mappers {}
  /// Where values come from.
  public enum Repositories {}
  /// What does something for the whole app.
  public enum Services {}
  /// What leads from one screen to the next.
  public enum Coordinators {}
  /// What screens show.
  public enum DataSources {}
  /// The screens.
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
