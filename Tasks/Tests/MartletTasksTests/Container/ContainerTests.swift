import MartletTasks
import MartletTasksTesting
import Testing

@Suite("Container injection") struct ContainerTests {
  protocol Greeter: Sendable { var text: String { get } }
  struct Plain: Greeter { var text = "hello" }
  private struct Loud: Greeter {
    let base: any Greeter
    var text: String { base.text.uppercased() }
  }
  private final class Thing: Sendable {}

  /// Uses the container when it is released.
  private final class LastWish: Sendable {
    let container: Container
    let released: Counter
    init(_ container: Container, _ released: Counter) { (self.container, self.released) = (container, released) }
    deinit {
      _ = container["other", default: .single { 1 }]()
      released.next()
    }
  }

  @Test func defaultHoldsUntilItIsReplacedAndAgainAfterAReset() {
    let container = Container()
    let greeter: () -> Dependency<any Greeter> = { container["greeter", default: .single { Plain() }] }
    #expect(greeter()().text == "hello")

    container["greeter"] = Dependency<any Greeter>.replace { Plain(text: "bye") }
    #expect(greeter()().text == "bye")

    container.reset()
    #expect(greeter()().text == "hello")
  }

  @Test func singleIsMadeOnceAndFactoryEachTime() {
    let single = Dependency.single { Thing() }
    let factory = Dependency.factory { Thing() }
    #expect(single() === single())
    #expect(factory() !== factory())
  }

  @Test func decorationGoesAroundWhatWasThere() {
    let made = Counter()
    var single = Dependency<any Greeter>.single {
      made.next()
      return Plain()
    }
    single.decorate { Loud(base: $0) }
    #expect(single().text == "HELLO")
    #expect(single().text == "HELLO")
    #expect(made.value == 1)

    var factory = Dependency.factory { made.next() }
    factory.decorate { -$0 }
    #expect(factory() == -2)
    #expect(factory() == -3)
  }

  @Test func groupsKeepTheirNamesApart() {
    let container = Container()
    #expect(container.mappers.greeter().text == "hello")

    container.mappers.greeter = .replace { Plain(text: "bye") }

    #expect(container.mappers.greeter().text == "bye")
    #expect(container.services.greeter() == "served")
    container.reset()
    #expect(container.mappers.greeter().text == "hello")
  }

  @Test func everyGroupIsItsOwn() {
    let container = Container()
    container.mappers["x"] = Dependency.single { 1 }
    container.repositories["x"] = Dependency.single { 2 }
    container.services["x"] = Dependency.single { 3 }
    container.coordinators["x"] = Dependency.single { 4 }
    container.dataSources["x"] = Dependency.single { 5 }
    container.views["x"] = Dependency.factory { 6 }
    let found: [Dependency<Int>?] = [
      container.mappers["x"], container.repositories["x"], container.services["x"], container.coordinators["x"],
      container.dataSources["x"], container.views["x"], container["x"],
    ]
    #expect(found.map { $0?() } == [1, 2, 3, 4, 5, 6, nil])
  }

  @Test func dependenciesOfDifferentTypesMayHaveTheSameName() {
    let container = Container()
    let made = Counter()
    let number: () -> Int = { container["x", default: .single { made.next() }]() }
    let text: () -> String = { container["x", default: .single { "default" }]() }
    #expect(number() == 1)
    #expect(text() == "default")
    #expect(number() == 1)
    #expect(made.value == 1)

    container["x"] = Dependency.single { "replaced" }
    #expect(number() == 1)
    #expect(text() == "replaced")

    container["x"] = nil as Dependency<String>?
    #expect(number() == 1)
    #expect(text() == "default")
  }

  @Test func overrideHidesNoDependencyOfAnotherType() async {
    await Container.withOverrides {
      $0["x"] = Dependency.single { 7 }
    } perform: {
      await Container.withOverrides {
        $0["x"] = Dependency.single { "inner" }
      } perform: {
        #expect(Container.shared["x", default: .single { 0 }]() == 7)
        #expect(Container.shared["x", default: .single { "" }]() == "inner")
      }
    }
  }

  @Test func dependencyMayResolveOthersOfTheSameContainer() {
    let container = Container()
    container["inner"] = Dependency.single { "inner" }
    let outer = container["outer", default: .single { [container["inner", default: .single { "" }](), "outer"] }]
    #expect(outer() == ["inner", "outer"])
  }

  @Test func aDependencyMayUseTheContainerWhenItIsReleased() {
    let container = Container()
    let released = Counter()
    let add = { container["wish"] = Dependency.single { [wish = LastWish(container, released)] in wish } }
    add()
    #expect(released.value == 0)
    add()
    #expect(released.value == 1)
    container["wish"] = nil as Dependency<LastWish>?
    #expect(released.value == 2)
    add()
    container.reset()
    #expect(released.value == 3)
  }

  @Test func manyWhoAskAtTheSameTimeGetTheSame() async {
    let container = Container()
    let things = await withTaskGroup(of: Thing.self) { group in
      for _ in 1...100 { group.addTask { container["thing", default: .single { Thing() }]() } }
      return await group.reduce(into: [ObjectIdentifier: Thing]()) { $0[ObjectIdentifier($1)] = $1 }
    }
    #expect(things.count == 1)
  }

  @Test func overridesEndWithTheWorkAndNobodyElseSeesThem() async {
    let url = URL(string: "https://override.test")
    await Container.withOverrides {
      $0.environment = .single { NetworkEnvironment(baseURL: url) }
    } perform: {
      #expect(Container.shared.environment().baseURL == url)
      let inherited = Task { Container.shared.environment().baseURL }
      let detached = Task.detached { Container.shared.environment().baseURL }
      #expect(await inherited.value == url)
      #expect(await detached.value != url)
    }
    #expect(Container.shared.environment().baseURL != url)
  }

  @Test func nestedOverridesSeeTheOuterOnes() async {
    let url = URL(string: "https://outer.test")
    await Container.withOverrides {
      $0.environment = .single { NetworkEnvironment(baseURL: url) }
    } perform: {
      await Container.withOverrides {
        $0.authenticator = .single { PassiveAuthenticator() }
      } perform: {
        #expect(Container.shared.environment().baseURL == url)
        #expect(Container.shared.authenticator() != nil)
      }
      #expect(Container.shared.authenticator() == nil)
    }
  }

  @Test func theMockSessionIsInTheContainerWhereItWasInstalled() async {
    await Container.withOverrides {
      $0.networkSession = .single { StandardNetworkSession() }
    } perform: {
      #expect(!(Container.shared.networkSession() is MockSession))
      let installed = MockSession.install()
      #expect(installed === MockSession.shared)
      #expect(Container.shared.networkSession() as? MockSession === MockSession.shared)
      await Container.withOverrides {
        $0.networkSession = .single { StandardNetworkSession() }
      } perform: {
        #expect(!(Container.shared.networkSession() is MockSession))
      }
    }
  }

  @Test func linkingTheMocksReplacesNoSession() {
    let container = Container()
    #expect(!(container.networkSession() is MockSession))
  }
}

extension Container.Group<Container.Mappers> {
  fileprivate var greeter: Dependency<any ContainerTests.Greeter> {
    get { self[#function, default: .single { ContainerTests.Plain() }] }
    set { self[#function] = newValue }
  }
}

extension Container.Group<Container.Services> {
  fileprivate var greeter: Dependency<String> { self[#function, default: .factory { "served" }] }
}
