import SlideshowModel

extension CommandLineOptions {
  /// The text of `--version` after the program's name.
  package static let version = "0.1.0"

  /// The usage of the slideshow in the terminal.
  package static let terminalHelp = """
    slideshow: shows the slides of a web service in the terminal.

    usage: slideshow [OPTION...]
           slideshow --service URL --images URL [OPTION...]
           slideshow --info-plist FILE [OPTION...]
           slideshow --offline
           slideshow --serve [--port N] [--rate N] [--photos FOLDER]

    \(help(CommandLineOption.allCases))

    Without an address, a demo service is started and shown.

    \(keys(.terminal))

    Text can be selected with the mouse while shift is held.
    Where standard output is no terminal, the slides are printed one a line.
    """

  /// The usage of the slideshow in a window.
  package static let windowHelp = """
    slideshow-window: shows the slides of a web service in a window.

    usage: slideshow-window [OPTION...]
           slideshow-window --service URL --images URL [OPTION...]
           slideshow-window --info-plist FILE [OPTION...]
           slideshow-window --offline

    \(help(CommandLineOption.allCases.filter { $0 != .serve && $0 != .port }))

    Without an address, a demo service is started and shown.

    \(keys(.window))
    """

  private static func help(_ options: [CommandLineOption]) -> String {
    options.map(\.help).joined(separator: "\n")
  }

  private static func keys(_ frontEnd: KeyBinding.FrontEnd) -> String {
    "keys, what they do, and the same with the mouse:\n"
      + KeyBinding.help(for: frontEnd).map { "  " + $0 }.joined(separator: "\n")
  }
}
