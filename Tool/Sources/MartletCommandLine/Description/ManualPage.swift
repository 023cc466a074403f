/// The manual page in the format of man(7), made from the description of the commands.
enum ManualPage {
  static let text: String = {
    let name = Catalogue.program
    var page = ".TH \(name.uppercased()) 1 \"\" \"\(name) \(Catalogue.version)\" \"User Commands\"\n"
    page += ".SH NAME\n\(name) \\- \(escaped(Catalogue.purpose))\n"
    page += ".SH SYNOPSIS\n"
    for command in Catalogue.all where !command.name.isMethod || command.name == .get {
      let word = command.name == .get ? "[\\fIMETHOD\\fR]" : "\\fB\(command.name.rawValue)\\fR"
      let arguments = command.arguments.isEmpty ? "" : escaped(command.arguments) + " "
      page += ".B \(name)\n\(word) \(arguments)[\\fIOPTION\\fR ...]\n.br\n"
    }
    page += ".SH DESCRIPTION\n" + paragraphs(RequestItem.help)
    page += ".PP\nWithout a method it is get, or post if there is a body.\n"
    page += ".SH OPTIONS\n\(escaped(HelpText.optionRule))\n" + options(Catalogue.callGroups)
    for command in Catalogue.all where !command.name.isMethod {
      page += ".SH \(name.uppercased()) \(command.name.rawValue.uppercased())\n"
      page += "\(escaped(sentence(command.summary)))\n"
      if !command.discussion.isEmpty { page += ".PP\n" + paragraphs(command.discussion) }
      page += options(command.groups.filter { $0.title != Catalogue.everywhere.title })
    }
    page += ".SH EXIT STATUS\n"
    for code in ExitCode.allCases { page += ".TP\n.B \(code.rawValue)\n\(escaped(code.meaning))\n" }
    page += ".SH ENVIRONMENT\n"
    for (variable, meaning) in environment { page += ".TP\n.B \(variable)\n\(escaped(meaning))\n" }
    page += ".SH EXAMPLES\n"
    for command in Catalogue.all where !command.name.isMethod || command.name == .get {
      for example in command.examples {
        page += ".TP\n.B \(escaped(example.command))\n\(escaped(example.meaning))\n"
      }
    }
    return page
  }()

  static let environment: [(String, String)] = [
    ("NO_COLOR", "if it is not empty, output has no colors, unless --color always is given"),
    ("TERM", "with the value dumb output has no colors"),
    ("XDG_CONFIG_HOME", "the folder of martlet/sessions and martlet/config.json; $HOME/.config by default"),
    ("http_proxy, https_proxy, all_proxy, no_proxy", "the proxy, if --proxy is not given"),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "the certificates of authorities that are trusted, in place of the system's"),
    (
      "SSLKEYLOGFILE",
      "a file that gets the secrets of TLS connections, with which other programs such as Wireshark decrypt a recording "
        + "of the traffic; each run says so on standard error"
    ),
  ]

  private static func options(_ groups: [OptionGroup]) -> String {
    groups.map { group in
      ".SS \(escaped(group.title))\n"
        + group.options.map { ".TP\n.B \(escaped($0.usage))\n\(escaped(sentence($0.help)))\n" }.joined()
    }.joined()
  }

  /// Keeps indented lines unchanged, and fills others.
  private static func paragraphs(_ text: String) -> String {
    var result = ""
    var isTable = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let isRow = line.hasPrefix("  ")
      if isRow != isTable { result += isRow ? ".PP\n.nf\n" : ".fi\n.PP\n" }
      isTable = isRow
      result += line.isEmpty ? ".PP\n" : escaped(String(line)) + "\n"
    }
    return result + (isTable ? ".fi\n" : "")
  }

  private static func sentence(_ text: String) -> String {
    (text.first.map { $0.uppercased() } ?? "") + text.dropFirst() + "."
  }

  private static func escaped(_ text: String) -> String {
    let escaped = text.map { character in
      switch character {
      case "\\": "\\e"
      case "-": "\\-"
      case "…": "..."
      default: "\(character)"
      }
    }.joined()
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }
}
