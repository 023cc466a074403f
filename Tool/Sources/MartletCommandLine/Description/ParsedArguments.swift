/// A parsed command line: the command, its options and the remaining arguments.
struct ParsedArguments: Sendable {
  let command: CommandName
  /// The method, if the command line names one; otherwise the items determine it.
  private(set) var method: String?
  /// Whether the command is not the first word.
  fileprivate(set) var isImplied = false
  private(set) var values: [OptionName: [String]] = [:]
  private(set) var words: [String] = []

  init(_ command: CommandName) {
    self.command = command
    method = command.isMethod ? command.rawValue.uppercased() : nil
  }

  /// Whether the option was given.
  func has(_ name: OptionName) -> Bool { values[name] != nil }

  /// The option's last value.
  func value(_ name: OptionName) -> String? { values[name]?.last }

  /// All values of an option, in order.
  func all(_ name: OptionName) -> [String] { values[name] ?? [] }

  func seconds(_ name: OptionName) -> Duration? { value(name).flatMap(Double.init).map { .seconds($0) } }

  func count(_ name: OptionName) -> Int? { value(name).flatMap { Int($0) } }

  /// Bytes a second.
  func rate(_ name: OptionName) -> Int? { value(name).flatMap(OptionDescription.rate) }

  /// Removes some words, and returns them.
  mutating func removeWords(where isMeant: (String) -> Bool) -> [String] {
    defer { words.removeAll(where: isMeant) }
    return words.filter(isMeant)
  }

  fileprivate mutating func add(_ value: String?, for name: OptionName) {
    values[name, default: []].append(contentsOf: value.map { [$0] } ?? [])
  }

  fileprivate mutating func add(_ word: String) { words.append(word) }

  /// Undoes an option. Redirects are followed without `--follow`, so that undoing it has to say more.
  fileprivate mutating func remove(_ name: OptionName) {
    values[name] = nil
    if name == .follow { add(nil, for: .noRedirects) }
  }

  /// Adds what a value of HTTPie's `--verify` means here.
  fileprivate mutating func add(verification value: String) {
    switch value.lowercased() {
    case "no", "false": add(nil, for: .insecure)
    case "yes", "true": break
    default: add(value, for: .ca)
    }
  }

  /// Takes the first word as the method.
  fileprivate mutating func take(method name: String) {
    words.removeFirst()
    method = name
  }

  fileprivate mutating func leaveOutMethod() { (method, isImplied) = (nil, true) }
}

/// Parses a command line by the description of the commands.
///
/// Options may be anywhere; `--name=value` and `--name value` are the same, `-qv` is `-q -v`, `--no-name` undoes an
/// earlier option, and after `--` there are no options.
struct ArgumentParser {
  private let description: CommandDescription
  private var result: ParsedArguments
  private var rest: ArraySlice<String>

  /// Parses the arguments after the program's name.
  ///
  /// - Parameter defaults: returns the options that precede the given options of a command that makes a request; it is
  ///   called only for such a command.
  static func parse(
    _ arguments: [String], defaults: () throws(UsageError) -> [String] = { [] }
  ) throws(UsageError) -> ParsedArguments {
    if let first = arguments.first, let command = CommandName(rawValue: first) {
      let rest = try (command.isMethod ? defaults() : []) + arguments.dropFirst()
      var parser = ArgumentParser(Catalogue.description(of: command), rest[...])
      return try parser.run()
    }
    // All methods have the same options, which may precede the method, and the method may be omitted.
    var parser = ArgumentParser(Catalogue.description(of: .get), try (defaults() + arguments)[...])
    parser.result.leaveOutMethod()
    var result = try parser.run()
    guard let word = result.words.first else { return result }
    if let command = CommandName(rawValue: word.lowercased()), !command.isMethod {
      throw UsageError("write '\(command.rawValue)' first, before its options: martlet \(command.rawValue) …")
    }
    if CommandName(rawValue: word.lowercased())?.isMethod == true || isMethod(word) {
      result.take(method: word.uppercased())
    } else if !looksLikeURL(word) {
      throw unknown(word)
    }
    return result
  }

  /// Checks that there are only options of a command that makes a request.
  static func check(_ options: [String]) throws(UsageError) {
    var parser = ArgumentParser(Catalogue.description(of: .get), options[...])
    if let word = try parser.run().words.first { throw UsageError("'\(word)' is not an option: begin it with --") }
  }

  private init(_ description: CommandDescription, _ rest: ArraySlice<String>) {
    self.description = description
    self.rest = rest
    result = ParsedArguments(description.name)
  }

  private static func unknown(_ word: String) -> UsageError {
    let nearest = Spelling.nearest(to: word.lowercased(), among: CommandName.allCases.map(\.rawValue))
    let hint = nearest.map { "did you mean '\($0)'? " } ?? ""
    return UsageError("'\(word)' is neither a command nor a URL: \(hint)'martlet --help' lists the commands")
  }

  /// Whether the word is another method, such as PROPFIND: in capitals, so that no host is mistaken for one.
  private static func isMethod(_ word: String) -> Bool {
    !word.isEmpty && word.utf8.allSatisfy { (65...90).contains($0) || $0 == UInt8(ascii: "-") }
  }

  private static func looksLikeURL(_ word: String) -> Bool {
    word.contains { ".:/".contains($0) } || word == "localhost"
  }

  private mutating func run() throws(UsageError) -> ParsedArguments {
    while let argument = rest.popFirst() {
      if argument == "--" {
        for word in rest { result.add(word) }
        break
      } else if argument.hasPrefix("--") {
        try readLong(argument.dropFirst(2))
      } else if argument.hasPrefix("-"), argument != "-" {
        try readShort(argument.dropFirst())
      } else {
        result.add(argument)
      }
    }
    if let value = result.value(.verify) { result.add(verification: value) }
    return result
  }

  private mutating func readLong(_ text: Substring) throws(UsageError) {
    let name = text.prefix { $0 != "=" }
    let given = name.endIndex == text.endIndex ? nil : String(text[text.index(after: name.endIndex)...])
    if let option = option(named: name) { return try add(option, given, as: "--\(name)") }
    guard name.hasPrefix("no-"), let undone = option(named: name.dropFirst(3)) else { throw unknown("--\(name)") }
    try refuse(given, of: "--\(name)")
    result.remove(undone.name)
  }

  private func option(named name: Substring) -> OptionDescription? {
    description.options.first { $0.name.rawValue == name }
  }

  private func refuse(_ given: String?, of name: String) throws(UsageError) {
    if let given { throw UsageError("\(name) takes no value, and got '\(given)': leave '=\(given)' out") }
  }

  private mutating func readShort(_ text: Substring) throws(UsageError) {
    var letters = text
    while let letter = letters.popFirst() {
      guard let option = description.options.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
      if option.value != .none, !letters.isEmpty {
        return try add(option, String(letters), as: "-\(letter)")
      }
      try add(option, nil, as: "-\(letter)")
    }
  }

  private mutating func add(_ option: OptionDescription, _ given: String?, as name: String) throws(UsageError) {
    guard let placeholder = option.placeholder else {
      try refuse(given, of: name)
      return result.add(nil, for: option.name)
    }
    guard let value = given ?? rest.popFirst() else {
      throw UsageError("\(name) needs a value: \(option.usage)")
    }
    if let fault = option.fault(in: value) { throw UsageError("\(name) \(placeholder): \(fault)") }
    result.add(value, for: option.name)
  }

  private func unknown(_ name: String) -> UsageError {
    if let remedy = OtherTools.remedy(for: name) { return UsageError("there is no option \(name): \(remedy)") }
    let names = description.options.map { "--\($0.name.rawValue)" }
    if let nearest = Spelling.nearest(to: name, among: names) {
      return UsageError("there is no option \(name): did you mean \(nearest)?")
    }
    let command = result.isImplied ? "" : " \(description.name.rawValue)"
    return UsageError("there is no option \(name): 'martlet\(command) --help' lists them")
  }
}
