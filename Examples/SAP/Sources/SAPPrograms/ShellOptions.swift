package import Foundation

/// The command line of `sap-shell`.
package struct ShellOptions: Sendable {
  package enum Mode: Sendable, Hashable {
    /// The shell in a terminal, and the tour elsewhere.
    case automatic
    case shell
    case tour
  }

  package private(set) var mode = Mode.automatic
  /// The gateway to use; nil to start one.
  package private(set) var gateway: URL?
  package private(set) var wantsHelp = false

  /// Reads the arguments, without the program's name.
  package init(_ arguments: [String]) throws(UsageMistake) {
    var arguments = Arguments(arguments)
    while let argument = arguments.next() {
      switch argument {
      case "--gateway":
        let text = try arguments.value(of: argument)
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else {
          throw UsageMistake(description: "--gateway \(text): a gateway is a URL such as http://127.0.0.1:8010")
        }
        gateway = url
      case "--tour": mode = .tour
      case "--shell": mode = .shell
      case "--help", "-h": wantsHelp = true
      default: throw UsageMistake(description: "unknown option '\(argument)': see --help")
      }
    }
    if mode == .tour, gateway != nil {
      throw UsageMistake(description: "--tour stops its gateway in the end, so it starts its own: leave --gateway out")
    }
  }

  package static let help = """
    sap-shell: an app with SAP Mobile Services, as a shell. It keeps its users in its folder,
    ~/.local/share/sap-shell on Linux.

    usage: sap-shell [--shell] [--gateway URL]
           sap-shell --tour

      --gateway URL  the gateway to use (make sap-gateway); by default it starts its own,
                     at port 8011
      --shell        the shell, even where standard input is no terminal
      --tour         an app's day instead, which is also what runs without a terminal

    \(Shell.help)

    """
}
