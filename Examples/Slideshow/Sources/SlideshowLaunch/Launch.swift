package import SlideshowModel
import Martlet
import MartletImages
import MartletInspector
import SlideshowService

#if os(Linux)
import MartletSockets
#endif

/// The start of a program: finds or starts a service, opens the cache, reads the saved state.
package struct Launch: Sendable {
  package let client: SlideshowClient
  package let store: StateStore
  /// Warnings for the user as they occur, including those from before the launch was complete.
  package let warnings: AsyncStream<Explanation>
  private let pollInterval: Duration?
  private let interval: Duration
  private let isPlaying: Bool
  private let demo: DemoService?

  /// Prepares the slideshow for the options.
  package init(_ options: CommandLineOptions, environment: [String: String]) throws {
    let (warnings, inbox) = AsyncStream<Explanation>.makeStream()
    self.warnings = warnings
    let file = options.state.map { URL(filePath: $0) } ?? StateStore.defaultFile(environment: environment)
    let demoStore = StateStore(file: file, name: "demo")
    let isDemo = try options.needsDemo(environment: environment)
    demo = isDemo && !options.isOffline ? try Self.demo(options, demoStore) { inbox.yield($0) } : nil
    let addresses = isDemo ? try Self.addresses(demo?.port ?? Self.lastPort(demoStore)) : nil
    let configuration = try SlideshowConfiguration(
      allowsInsecure: options.allowsInsecure, file: options.infoPropertyList?.file
    ) { key in
      guard let addresses else { return options.value(of: key, environment: environment) }
      return (key == .service ? addresses.service : addresses.imageBase).absoluteString
    }
    store = isDemo ? demoStore : StateStore(file: file, name: configuration.service.absoluteString)
    let cacheFile = options.cache.map { URL(filePath: $0) } ?? HTTPCache.defaultFile(environment: environment)
    let cache = HTTPCache.slideshow(in: cacheFile) { inbox.yield($0) }
    let transport = DefaultTransport()
    let inspector = options.isInspected ? try Self.inspector(of: transport) : nil
    // The slides soon hide what the inspector printed.
    if let inspector { inbox.yield(Explanation("The requests are at \(inspector.url.absoluteString)")) }
    client = SlideshowClient(
      configuration,
      session: .slideshow(
        allowsInsecure: options.allowsInsecure, transport: transport, cache: cache,
        listeners: inspector.map { [$0] } ?? []))
    pollInterval = options.poll == 0 ? nil : .seconds(options.poll)
    interval = .seconds(options.interval)
    isPlaying = options.isPlaying
  }

  /// Makes the presenter of a front end with this room for a picture.
  @MainActor
  package func makePresenter(
    viewport: Viewport, draw: @escaping @MainActor (SlideshowState) -> Void
  ) -> Presenter {
    let (kept, warning) = store.load()
    let state = SlideshowState(
      service: client.configuration.shownService, kept: kept, viewport: viewport, pollInterval: pollInterval,
      autoplayInterval: interval, notices: warning.map { [$0] } ?? [])
    let presenter = Presenter(client: client, store: store, state: state, draw: draw)
    if isPlaying { presenter.tell(.command(.autoplay(true))) }
    Task.detached { [warnings] in
      for await warning in warnings { presenter.tell(.warning(warning)) }
    }
    Task.detached { await ImageCache.slideshow.trim(on: MemoryPressure.signals()) }
    return presenter
  }

  /// Ends the demo service, if there is one.
  package func end() { demo?.stop() }

  private static func inspector(of transport: DefaultTransport) throws -> Inspector {
    var options = Inspector.Options()
    #if os(Linux)
    options.pools = { await transport.statistics() }
    #endif
    return try Inspector(options)
  }

  /// The demo's service, at the previous port if it is free: then its cached responses are still valid.
  private static func demo(
    _ options: CommandLineOptions, _ store: StateStore, warn: (Explanation) -> Void
  ) throws -> DemoService {
    let last = try? store.demoPort
    let known = last.flatMap { try? DemoService(options, port: $0) }
    let service = try known ?? DemoService(options, port: 0)
    if service.port != last, let warning = store.save(demoPort: service.port) { warn(warning) }
    return service
  }

  /// The demo's port of an earlier run.
  private static func lastPort(_ store: StateStore) throws -> Int? {
    do { return try store.demoPort } catch {
      throw CommandLineOptions.Mistake(
        description: "the state file '\(store.file.path)' cannot be read, and only it has the demo's address: run it "
          + "once without --offline, which sets a damaged file aside, or choose another file with --state")
    }
  }

  private static func addresses(_ port: Int?) throws -> DemoService.Addresses {
    guard let addresses = port.flatMap(DemoService.Addresses.init) else {
      throw CommandLineOptions.Mistake(
        description: "the demo was never shown here, so there is nothing to show: run it once without --offline")
    }
    return addresses
  }
}
