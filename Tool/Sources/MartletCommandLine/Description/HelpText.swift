/// The help, made from the description of the commands.
enum HelpText {
  static let overview: String = {
    var text = "usage: \(Catalogue.program) [COMMAND] URL [ITEM …] [OPTION …]\n\n"
    text += "\(Catalogue.program) \(Catalogue.purpose).\n"
    text += "Without a command it is 'get', or 'post' if there is a body.\n\nCommands:\n"
    let commands = Catalogue.all.map { (left: $0.name.rawValue, right: $0.summary) }
    text += columns(commands, width: 14) + "\n"
    text += "Examples:\n" + examples(Catalogue.examples) + "\n"
    text +=
      "'\(Catalogue.program) get --help' explains items and options; '\(Catalogue.program) man' prints a manual.\n"
    return text
  }()

  static func of(_ command: CommandDescription) -> String {
    var text = "usage: \(Catalogue.program) \(command.name.rawValue) \(command.arguments)"
    text += (command.arguments.isEmpty ? "" : " ") + "[OPTION …]\n\n"
    text += "\(Catalogue.program) \(command.name.rawValue) \(command.summary).\n"
    if !command.discussion.isEmpty { text += "\n\(command.discussion)\n" }
    for group in command.groups {
      text += "\n\(group.title):\n"
      text += columns(group.options.map { ($0.short == nil ? "    " + $0.usage : $0.usage, $0.help) }, width: 28)
    }
    text += "\n\(optionRule)\n"
    if !command.examples.isEmpty { text += "\nExamples:\n" + examples(command.examples) }
    if command.name.isMethod { text += "\nExit codes:\n" + exitCodes }
    return text
  }

  /// The rule for all options.
  static let optionRule = "--no-NAME undoes an earlier --NAME, for every option."

  static var exitCodes: String { columns(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) }, width: 6) }

  private static func examples(_ examples: [(command: String, meaning: String)]) -> String {
    examples.map { "  \($0.command)\n      \($0.meaning)\n" }.joined()
  }

  /// Two columns, the second of which is wrapped at 100 characters.
  private static func columns(_ rows: [(left: String, right: String)], width: Int) -> String {
    rows.map { row in
      let left = "  \(row.left)"
      let padding = String(repeating: " ", count: max(0, width - left.count))
      let lines = wrapped(row.right, to: 100 - width)
      let indentation = String(repeating: " ", count: width)
      let first = left.count < width ? left + padding : left + "\n" + indentation
      return first + lines.joined(separator: "\n" + indentation) + "\n"
    }.joined()
  }

  private static func wrapped(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
