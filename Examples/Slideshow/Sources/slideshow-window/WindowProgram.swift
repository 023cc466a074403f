import CGTK
import Martlet
import SlideshowLaunch
import SlideshowModel

/// The program: reads the options, finds or starts a service, and shows the slides in a window.
///
/// The main thread is GTK's, so nothing here is `async`.
@main
@MainActor
enum WindowProgram {
  static func main() {
    do {
      let options = try CommandLineOptions(Array(CommandLine.arguments.dropFirst()))
      if options.wantsHelp { return print(CommandLineOptions.windowHelp) }
      if options.wantsVersion { return print("slideshow-window \(CommandLineOptions.version)") }
      if options.isServing {
        throw CommandLineOptions.Mistake(description: "--serve is for slideshow, not for its window")
      }
      try show(options)
    } catch {
      Complaint(of: "slideshow-window").end(error)
    }
  }

  private static func show(_ options: CommandLineOptions) throws {
    g_set_prgname("slideshow-window")
    g_set_application_name("Slideshow")
    guard gtk_init_check() != 0 else { throw NoDisplay() }
    let launch = try Launch(options, environment: ProcessInfo.processInfo.environment)
    defer { launch.end() }
    DarkStyle.follow()
    let window = SlideshowWindow.make()
    for number in [SIGINT, SIGTERM, SIGHUP] { MainLoop.onSignal(number) { window.handle(.command(.quit)) } }
    window.run(launch)
  }

  private struct NoDisplay: Error, CustomStringConvertible {
    let description = "there is no display for a window: start it in a desktop, or use slideshow in the terminal"
  }
}
