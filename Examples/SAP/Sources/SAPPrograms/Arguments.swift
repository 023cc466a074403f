/// A mistake on the command line.
package struct UsageMistake: Error, CustomStringConvertible {
  package let description: String
}

/// The arguments of a program, read one after the other.
struct Arguments {
  private var rest: ArraySlice<String>

  init(_ arguments: [String]) { rest = arguments[...] }

  /// Takes the next argument; `--name=value` counts as two.
  mutating func next() -> String? {
    guard let argument = rest.popFirst() else { return nil }
    guard argument.hasPrefix("--"), let equal = argument.firstIndex(of: "=") else { return argument }
    rest = [String(argument[argument.index(after: equal)...])] + rest
    return String(argument[..<equal])
  }

  mutating func value(of option: String) throws(UsageMistake) -> String {
    guard let value = rest.popFirst(), !value.hasPrefix("--") else {
      throw UsageMistake(description: "\(option) needs a value: see --help")
    }
    return value
  }
}
