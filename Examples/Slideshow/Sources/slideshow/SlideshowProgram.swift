import Dispatch
import Martlet
import SlideshowLaunch
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
  private static let complaint = Complaint(of: "slideshow")

  static func main() async {
    do {
      let options = try CommandLineOptions(Array(CommandLine.arguments.dropFirst()))
      if options.wantsHelp { return print(CommandLineOptions.terminalHelp) }
      if options.isServing { return try await serve(options) }
      try await show(options)
    } catch {
      complaint.end(error)
    }
  }

  private static func show(_ options: CommandLineOptions) async throws {
    let launch = try Launch(options, environment: ProcessInfo.processInfo.environment)
    defer { launch.end() }
    if Terminal.isPresent {
      await present(launch)
    } else {
      try await list(launch)
    }
  }

  @MainActor
  private static func present(_ launch: Launch) async {
    let terminal = Terminal()
    defer { terminal.restore() }
    let presenter = launch.makePresenter(viewport: terminal.size.viewport) { state in
      terminal.show(Frame.lines(of: state, on: terminal.size))
    }
    terminal.take(tell: presenter.tell)
    await presenter.run()
  }

  private static func list(_ launch: Launch) async throws {
    let (kept, warning) = launch.store.load()
    if let warning { complaint.tell(warning) }
    let warnings = Task { for await text in launch.warnings { complaint.tell(text) } }
    defer { warnings.cancel() }
    try await SlideList.run(client: launch.client, kept: kept) { print($0) }
  }

  private static func serve(_ options: CommandLineOptions) async throws {
    let service = try DemoService(options, port: options.port ?? 8000)
    print("serving \(service.service) until Ctrl-C")
    print("slideshow --service \(service.service) --images \(service.imageBase)")
    fflush(nil)
    await endOfProgram()
    service.stop()
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
}
