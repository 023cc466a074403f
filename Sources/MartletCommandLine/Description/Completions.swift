/// Scripts that complete the command line in shells, made from the description of the commands.
enum Completions {
  static func script(for shell: String) throws(UsageError) -> String {
    switch shell {
    case "bash": return bash
    case "zsh": return zsh
    case "fish": return fish
    case "": throw UsageError("for which shell? martlet completions bash, zsh or fish")
    default:
      let nearest = Spelling.nearest(to: shell, among: ["bash", "zsh", "fish"]).map { ": did you mean \($0)?" } ?? ""
      throw UsageError("there are no completions for '\(shell)', only for bash, zsh and fish\(nearest)")
    }
  }

  private static let program = Catalogue.program
  private static let commands = Catalogue.all.map(\.name.rawValue).joined(separator: " ")

  /// Commands that have the same options are completed alike.
  private static let groups: [(names: [CommandDescription], options: [OptionDescription])] = {
    let methods = Catalogue.all.filter(\.name.isMethod)
    let others = Catalogue.all.filter { !$0.name.isMethod }
    return [(methods, Catalogue.description(of: .get).options)] + others.map { ([$0], $0.options) }
  }()

  private static func names(_ option: OptionDescription) -> [String] {
    (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.name.rawValue)"]
  }

  // MARK: bash

  private static var bash: String {
    let cases = groups.map { group in
      "    \(group.names.map(\.name.rawValue).joined(separator: "|")))\n"
        + "      options=\"\(group.options.flatMap(names).joined(separator: " "))\" ;;\n"
    }.joined()
    return """
      # Completions of \(program) for bash.
      _\(program)() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options
        COMPREPLY=()
        case $before in
      \(bashValues)  esac
        case $command in
      \(cases)    *) options="\(groups[0].options.flatMap(names).joined(separator: " "))" ;;
        esac
        if [[ $word == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$word"))
        elif [[ $COMP_CWORD -eq 1 ]]; then
          COMPREPLY=($(compgen -W "\(commands)" -- "$word"))
        elif [[ $command == completions ]]; then
          COMPREPLY=($(compgen -W "bash zsh fish" -- "$word"))
        elif [[ $command == help ]]; then
          COMPREPLY=($(compgen -W "\(commands)" -- "$word"))
        elif [[ $command == serve ]]; then
          COMPREPLY=($(compgen -d -- "$word"))
        elif [[ $word == @* ]]; then
          COMPREPLY=($(compgen -f -P @ -- "${word#@}"))
        fi
      }
      complete -o filenames -o bashdefault -F _\(program) \(program)

      """
  }

  private static var bashValues: String {
    var lines: [String] = []
    for option in all where option.value != .none {
      let action: String
      switch option.value {
      case .file: action = "COMPREPLY=($(compgen -f -- \"$word\"))"
      case .folder: action = "COMPREPLY=($(compgen -d -- \"$word\"))"
      case .oneOf(let words): action = "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\"))"
      case .none, .text, .seconds, .count: action = ":"
      }
      lines.append("    \(names(option).joined(separator: "|"))) \(action); return ;;\n")
    }
    return lines.joined()
  }

  /// Every option once.
  private static var all: [OptionDescription] {
    var seen: Set<OptionName> = []
    return groups.flatMap(\.options).filter { seen.insert($0.name).inserted }
  }

  // MARK: zsh

  private static var zsh: String {
    let commands = Catalogue.all.map { "    '\($0.name.rawValue):\(quotedForZsh($0.summary))'\n" }.joined()
    let cases = groups.map { group in
      let specifications = group.options.map { "        \(zshOption($0)) \\\n" }.joined()
      let rest = zshArguments(group.names[0].name)
      return "    \(group.names.map(\.name.rawValue).joined(separator: "|")))\n      _arguments -s -S \\\n"
        + specifications + "        \(rest) ;;\n"
    }.joined()
    return """
      #compdef \(program)
      # Completions of \(program) for zsh.
      _\(program)() {
        local -a commands
        commands=(
      \(commands)  )
        if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
          _describe command commands
          return
        fi
        local command=$words[2]
        (( CURRENT-- ))
        shift words
        case $command in
      \(cases)  esac
      }
      if [[ $funcstack[1] == _\(program) ]]; then _\(program) "$@"; else compdef _\(program) \(program); fi

      """
  }

  private static func zshArguments(_ command: CommandName) -> String {
    switch command {
    case .serve: "'1:folder:_files -/'"
    case .completions: "'1:shell:(bash zsh fish)'"
    case .help: "'1:command:(\(commands))'"
    case .record, .man: "'*: :'"
    default: "'1:URL:' '*:item:_files'"
    }
  }

  private static func zshOption(_ option: OptionDescription) -> String {
    let value: String
    switch option.value {
    case .none: value = ""
    case .file: value = ":file:_files"
    case .folder: value = ":folder:_files -/"
    case .oneOf(let words): value = ":\(option.name.rawValue):(\(words.joined(separator: " ")))"
    case .text, .seconds, .count: value = ":\(quotedForZsh(option.placeholder ?? "")):"
    }
    let text = "[\(quotedForZsh(option.help))]\(value)'"
    let repeats = option.isRepeatable ? "*" : ""
    let long = "'\(repeats)--\(option.name.rawValue)" + (option.value == .none ? "" : "=")
    return (option.short.map { "'\(repeats)-\($0)\(option.value == .none ? "" : "+")\(text) " } ?? "") + long + text
  }

  private static func quotedForZsh(_ text: String) -> String {
    text.map { character in
      switch character {
      case "'": "'\\''"
      case "[", "]", ":": "\\\(character)"
      default: "\(character)"
      }
    }.joined()
  }

  // MARK: fish

  private static var fish: String {
    var lines = ["# Completions of \(program) for fish."]
    for command in Catalogue.all {
      lines.append(
        "complete -c \(program) -n __fish_use_subcommand -a \(command.name.rawValue) -d \(quotedForFish(command.summary))"
      )
    }
    for group in groups {
      let condition = quotedForFish(
        "__fish_seen_subcommand_from \(group.names.map(\.name.rawValue).joined(separator: " "))")
      for option in group.options {
        let short = option.short.map { " -s \($0)" } ?? ""
        lines.append(
          "complete -c \(program) -n \(condition)\(short) -l \(option.name.rawValue)\(fishValue(option))"
            + " -d \(quotedForFish(option.help))")
      }
    }
    lines.append("complete -c \(program) -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'")
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fishValue(_ option: OptionDescription) -> String {
    switch option.value {
    case .none: ""
    case .file, .folder: " -r -F"
    case .oneOf(let words): " -x -a \(quotedForFish(words.joined(separator: " ")))"
    case .text, .seconds, .count: " -x"
    }
  }

  private static func quotedForFish(_ text: String) -> String {
    "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "'"
  }
}
