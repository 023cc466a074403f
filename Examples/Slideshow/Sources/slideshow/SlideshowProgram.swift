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
    let demo = options.needsDemo(environment: environment) ? try demoService(options, port: 0) : nil
    let configuration = try SlideshowConfiguration(allowsInsecure: options.allowsInsecure) { key in
      guard let demo else { return options.value(of: key, environment: environment) }
      return key == .service ? demo.service.absoluteString : demo.imageBase.absoluteString
    }
    let file = options.state.map { URL(filePath: $0) } ?? StateStore.defaultFile(environment: environment)
    // The demo's port changes from run to run, and what is kept of it must not.
    let store = StateStore(file: file, name: demo == nil ? configuration.service.absoluteString : "demo")
    let client = SlideshowClient(configuration)
    if Terminal.isPresent {
      await present(client, store)
    } else {
      try await list(client, store)
    }
    demo?.stop()
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
