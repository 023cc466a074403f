/// What the parser, the help, the completions and the manual page know about a command.
struct CommandDescription: Sendable {
  let name: CommandName
  /// What it does, in half a line.
  let summary: String
  /// What follows the name, besides options.
  let arguments: String
  /// What the help says after the summary.
  let discussion: String
  let groups: [OptionGroup]
  /// Commands to try, each with what it does.
  let examples: [(command: String, meaning: String)]

  var options: [OptionDescription] { groups.flatMap(\.options) }
}

/// Options that belong together in help.
struct OptionGroup: Sendable {
  let title: String
  let options: [OptionDescription]
}

/// The commands.
enum CommandName: String, Sendable, Hashable, CaseIterable {
  case get, post, put, patch, delete, head, options
  case serve, record, completions, man, help

  /// Whether it makes a request; its name is then the method.
  var isMethod: Bool {
    switch self {
    case .get, .post, .put, .patch, .delete, .head, .options: true
    case .serve, .record, .completions, .man, .help: false
    }
  }
}
