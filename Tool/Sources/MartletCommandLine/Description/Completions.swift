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

  /// The options of all commands that are methods. They may also be used without a command.
  private static let methodOptions = Catalogue.description(of: .get).options
  private static let others = Catalogue.all.filter { !$0.name.isMethod }

  private static func names(_ option: OptionDescription) -> [String] {
    (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.name.rawValue)"]
  }

  // MARK: - bash

  /// Bash treats runs of `=`, `@` and `:` as separate words. The text that a completion replaces begins after them, but
  /// before an `@`.
  private static var bash: String {
    let cases = others.map { "    \($0.name.rawValue)) options=\"\(bashNames($0.options))\" ;;\n" }.joined()
    return """
      # Completions of \(program) for bash.
      _\(program)() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} owner= options
        COMPREPLY=()
        ((COMP_CWORD > 1)) && owner=${COMP_WORDS[COMP_CWORD-2]}
        if [[ -n $word && $word != *[!=@:]* ]]; then
          before=$word word= owner=${COMP_WORDS[COMP_CWORD-1]}
        fi
        if [[ $before == = && $owner == --* ]]; then before=$owner; fi
        case $before in
          *@) _\(program)_paths -f "$word" @; return ;;
      \(bashValues)  esac
        case $command in
      \(cases)    *) options="\(bashNames(methodOptions))" ;;
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
          _\(program)_paths -d "$word"
        fi
      }
      _\(program)_paths() {
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -P "${3-}" "$1" -- "$2")
        if [[ -n ${3-} && ${#COMPREPLY[@]} -eq 1 && -d ${COMPREPLY[0]#@} ]]; then
          compopt -o nospace 2>/dev/null
          COMPREPLY[0]+=/
        fi
      }
      complete -F _\(program) \(program)

      """
  }

  private static func bashNames(_ options: [OptionDescription]) -> String {
    options.flatMap(names).joined(separator: " ")
  }

  private static var bashValues: String {
    var lines: [String] = []
    for option in all where option.value != .none {
      let action: String
      switch option.value {
      case .file: action = "_\(program)_paths -f \"$word\""
      case .folder: action = "_\(program)_paths -d \"$word\""
      case .oneOf(let words): action = "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\"))"
      case .none, .text, .seconds, .count, .rate: action = ":"
      }
      lines.append("    \(names(option).joined(separator: "|"))) \(action); return ;;\n")
    }
    return lines.joined()
  }

  /// Every option once.
  private static var all: [OptionDescription] {
    var seen: Set<OptionName> = []
    return Catalogue.all.flatMap(\.options).filter { seen.insert($0.name).inserted }
  }

  // MARK: - zsh

  private static var zsh: String {
    let commands = Catalogue.all.map { "    '\($0.name.rawValue):\(quotedForZsh($0.summary))'\n" }.joined()
    let cases = others.map { zshCase($0.name.rawValue, $0.options, zshArguments($0.name)) }.joined()
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
        if (( ${commands[(I)$command:*]} )); then
          (( CURRENT-- ))
          shift words
        fi
        case $command in
      \(cases)\(zshCase("*", methodOptions, "'*:item:_\(program)_items'"))  esac
      }
      _\(program)_items() {
        compset -P '*@' && _files
      }
      if [[ $funcstack[1] == _\(program) ]]; then _\(program) "$@"; else compdef _\(program) \(program); fi

      """
  }

  private static func zshCase(_ pattern: String, _ options: [OptionDescription], _ arguments: String) -> String {
    let rows = options.map(zshOption) + (arguments.isEmpty ? [] : [arguments])
    return "    \(pattern))\n      _arguments -s -S \\\n" + rows.map { "        \($0)" }.joined(separator: " \\\n")
      + " ;;\n"
  }

  private static func zshArguments(_ command: CommandName) -> String {
    switch command {
    case .serve: "'1:folder:_files -/'"
    case .completions: "'1:shell:(bash zsh fish)'"
    case .help: "'1:command:(\(commands))'"
    default: ""  // a message would keep zsh from inserting the only matching option
    }
  }

  private static func zshOption(_ option: OptionDescription) -> String {
    let value: String
    switch option.value {
    case .none: value = ""
    case .file: value = ":file:_files"
    case .folder: value = ":folder:_files -/"
    case .oneOf(let words): value = ":\(option.name.rawValue):(\(words.joined(separator: " ")))"
    case .text, .seconds, .count, .rate: value = ":\(quotedForZsh(option.placeholder ?? "")):"
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

  // MARK: - fish

  private static var fish: String {
    let seen = "__fish_seen_subcommand_from"
    let otherNames = others.map(\.name.rawValue).joined(separator: " ")
    var lines = [
      "# Completions of \(program) for fish.",
      """
      function __\(program)_items
        set -l before (string match -r '.*@' -- (commandline -ct)); or return
        for path in (__fish_complete_path (string replace -r '.*@' '' -- (commandline -ct)))
          echo "$before$path"
        end
      end
      """,
      "complete -c \(program) -f",
    ]
    for command in Catalogue.all {
      lines.append(fishLine("__fish_use_subcommand", "-a \(command.name.rawValue)", command.summary))
    }
    let isMethod = "not \(seen) \(otherNames)"
    lines += methodOptions.map { fishLine(isMethod, fishOption($0), $0.help) }
    lines.append("complete -c \(program) -n \(quotedForFish(isMethod)) -a '(__\(program)_items)'")
    for command in others {
      lines += command.options.map { fishLine("\(seen) \(command.name.rawValue)", fishOption($0), $0.help) }
    }
    lines.append("complete -c \(program) -n '\(seen) serve' -a '(__fish_complete_directories)'")
    lines.append("complete -c \(program) -n '\(seen) completions' -a 'bash zsh fish'")
    lines.append("complete -c \(program) -n '\(seen) help' -a '\(commands)'")
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fishLine(_ condition: String, _ what: String, _ description: String) -> String {
    "complete -c \(program) -n \(quotedForFish(condition)) \(what) -d \(quotedForFish(description))"
  }

  private static func fishOption(_ option: OptionDescription) -> String {
    (option.short.map { "-s \($0) " } ?? "") + "-l \(option.name.rawValue)\(fishValue(option))"
  }

  private static func fishValue(_ option: OptionDescription) -> String {
    switch option.value {
    case .none: ""
    case .file, .folder: " -r -F"
    case .oneOf(let words): " -x -a \(quotedForFish(words.joined(separator: " ")))"
    case .text, .seconds, .count, .rate: " -x"
    }
  }

  private static func quotedForFish(_ text: String) -> String {
    "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "'"
  }
}
