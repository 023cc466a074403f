/// The description of a command for the parser, the help, the completions and the manual page.
struct CommandDescription: Sendable {
  let name: CommandName
  /// Its purpose, in half a line.
  let summary: String
  /// The arguments after the name, besides options.
  let arguments: String
  /// The help's text after the summary.
  let discussion: String
  let groups: [OptionGroup]
  /// Commands to try, each with its meaning.
  let examples: [(command: String, meaning: String)]

  var options: [OptionDescription] { groups.flatMap(\.options) }
}

/// Options that are grouped in the help.
struct OptionGroup: Sendable {
  let title: String
  let options: [OptionDescription]
}

/// The commands.
enum CommandName: String, Sendable, Hashable, CaseIterable {
  case get, post, put, patch, delete, head, options
  case ws
  case serve, record, inspect, completions, man, help

  /// Whether it makes a request; its name is then the method.
  var isMethod: Bool {
    switch self {
    case .get, .post, .put, .patch, .delete, .head, .options: true
    case .ws, .serve, .record, .inspect, .completions, .man, .help: false
    }
  }
}
