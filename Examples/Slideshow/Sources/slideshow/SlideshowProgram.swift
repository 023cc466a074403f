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
      if options.wantsVersion { return print("slideshow \(CommandLineOptions.version)") }
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
      terminal.show(Frame(of: state, on: terminal.size))
    }
    await terminal.take(tell: presenter.tell)
    await presenter.run()
  }

  private static func list(_ launch: Launch) async throws {
    let (kept, warning) = launch.store.load()
    if let warning { complaint.tell("\(warning)") }
    let warnings = Task { for await warning in launch.warnings { complaint.tell("\(warning)") } }
    defer { warnings.cancel() }
    try await SlideList.run(client: launch.client, kept: kept) { print($0) }
  }

  @MainActor
  private static func serve(_ options: CommandLineOptions) async throws {
    let service = try DemoService(options, port: options.port ?? 8000)
    let (signals, inbox) = AsyncStream<Void>.makeStream()
    var sources: [any DispatchSourceSignal] = []
    // Ctrl-C, or a request to end.
    for number in [SIGINT, SIGTERM, SIGHUP] {
      sources.append(await SignalWatch.begin(number) { inbox.yield() })
    }
    print("serving \(service.service) until Ctrl-C")
    print("slideshow --service \(service.service) --images \(service.imageBase)")
    fflush(nil)
    for await _ in signals { break }
    for source in sources { source.cancel() }
    service.stop()
  }
}
