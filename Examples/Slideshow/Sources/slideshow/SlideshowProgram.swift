import Dispatch
import Martlet
import SlideshowModel
import SlideshowService
import SlideshowTerminal

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The program: reads the options, finds or starts a service, and shows the slides.
@main
enum SlideshowProgram {
  static func main() async {
    let options: CommandLineOptions
    do { options = try CommandLineOptions(Array(CommandLine.arguments.dropFirst())) } catch {
      fail("\(error)", code: 2)
    }
    if options.wantsHelp { return print(CommandLineOptions.help) }
    do {
      if options.isServing { return try await serve(options) }
      try await show(options)
    } catch {
      fail("\(error)", code: 1)
    }
  }

  private static func show(_ options: CommandLineOptions) async throws {
    let environment = ProcessInfo.processInfo.environment
    let file = options.state.map { URL(filePath: $0) } ?? StateStore.defaultFile(environment: environment)
    var store = StateStore(file: file, name: "demo")
    let isDemo = options.needsDemo(environment: environment)
    let demo = isDemo && !options.isOffline ? try demoService(options, store) : nil
    let addresses = isDemo ? try demoAddresses(demo?.port ?? store.demoPort) : nil
    let configuration = try SlideshowConfiguration(allowsInsecure: options.allowsInsecure) { key in
      guard let addresses else { return options.value(of: key, environment: environment) }
      return (key == .service ? addresses.service : addresses.imageBase).absoluteString
    }
    if !isDemo { store = StateStore(file: file, name: configuration.service.absoluteString) }
    let client = SlideshowClient(configuration, session: session(options, environment))
    if Terminal.isPresent {
      await present(client, store)
    } else {
      try await list(client, store)
    }
    demo?.stop()
  }

  private static func session(_ options: CommandLineOptions, _ environment: [String: String]) -> HTTPSession {
    let file = options.cache.map { URL(filePath: $0) } ?? HTTPCache.defaultFile(environment: environment)
    let (cache, warning) = HTTPCache.slideshow(in: file)
    if let warning { complain(warning) }
    return .slideshow(allowsInsecure: options.allowsInsecure, cache: cache)
  }

  /// The demo's service, at the port of the last time where that is free: then what is cached of it holds.
  private static func demoService(_ options: CommandLineOptions, _ store: StateStore) throws -> DemoService {
    let known = store.demoPort.flatMap { try? demoService(options, port: $0) }
    let service = try known ?? demoService(options, port: 0)
    if service.port != store.demoPort, let warning = store.save(demoPort: service.port) { complain(warning) }
    return service
  }

  private static func demoAddresses(_ port: Int?) throws -> DemoService.Addresses {
    guard let addresses = port.flatMap(DemoService.Addresses.init) else {
      throw CommandLineOptions.Mistake(
        description: "the demo was never shown here, so there is nothing to show: run it once without --offline")
    }
    return addresses
  }

  @MainActor
  private static func present(_ client: SlideshowClient, _ store: StateStore) async {
    let terminal = Terminal()
    defer { terminal.restore() }
    let presenter = Presenter(client: client, store: store, screen: terminal.size) { state in
      terminal.show(Frame.lines(of: state))
    }
    terminal.take(tell: presenter.tell)
    await presenter.run()
  }

  private static func list(_ client: SlideshowClient, _ store: StateStore) async throws {
    let (kept, warning) = store.load()
    if let warning { complain(warning) }
    try await SlideList.run(client: client, kept: kept) { print($0) }
  }

  private static func serve(_ options: CommandLineOptions) async throws {
    let service = try demoService(options, port: options.port ?? 8000)
    print("serving \(service.service) until Ctrl-C")
    print("slideshow --service \(service.service) --images \(service.imageBase)")
    fflush(nil)
    await endOfProgram()
    service.stop()
  }

  private static func demoService(_ options: CommandLineOptions, port: Int) throws -> DemoService {
    guard let photos = options.photos else { return try DemoService(port: port) }
    return try DemoService(port: port, folder: URL(filePath: photos, directoryHint: .isDirectory))
  }

  /// Waits for Ctrl-C, or for being told to end.
  private static func endOfProgram() async {
    let (signals, inbox) = AsyncStream<Void>.makeStream()
    let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { inbox.yield() }
      source.resume()
      return source
    }
    for await _ in signals { break }
    for source in sources { source.cancel() }
  }

  private static func complain(_ message: String) {
    let bytes = Array("slideshow: \(message)\n".utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  private static func fail(_ message: String, code: Int32) -> Never {
    complain(message)
    exit(code)
  }
}
