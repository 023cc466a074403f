import FoundationEssentials

/// The public API of a module, as a file in `Tests/API` lists it.
package struct PublicAPI {
  private struct Parameter {
    let label: Substring
    let isOptional: Bool
  }

  private struct Declaration {
    let name: String
    let parameters: [Parameter]
  }

  private var declarations: [Declaration] = []
  private var constantNames: [String: Set<String>] = [:]

  /// Reads the list of a module.
  package init(of module: String) throws {
    let file = projectFolder.appending(path: "Tests/API/\(module).txt")
    var owners: [Substring] = []
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("//") {
      let depth = line.prefix { $0 == " " }.count / 2
      guard let match = line.firstMatch(of: Self.declaration) else { continue }
      let name = match.2.map { $0.last == "?" || $0.last == "!" ? $0.dropLast() : $0 } ?? "init"
      owners = owners.prefix(depth) + [name]
      let owner = owners.dropLast().joined(separator: ".")
      if line.hasSuffix(": \(owner)"), line.contains("static let ") {
        constantNames[owner, default: []].insert(String(name))
      }
      let parameters = line[match.range.upperBound...].first == "(" ? line[match.range.upperBound...] : ""
      declarations.append(Declaration(name: owners.joined(separator: "."), parameters: Self.parameters(parameters)))
    }
  }

  /// Whether the module has a symbol, such as `Type`, `Type.member` or `Type.call(label:)`. Parameters with defaults
  /// may be left out.
  package func contains(_ symbol: String) -> Bool {
    let parts = symbol.split(separator: "(", maxSplits: 1)
    let candidates = declarations.filter { $0.name == String(parts[0]) }
    guard parts.count == 2 else { return !candidates.isEmpty }
    let labels = parts[1].dropLast().split(separator: ":")
    return candidates.contains { Self.takes(labels[...], $0.parameters[...]) }
  }

  /// The names of the constants that a type declares of itself, such as those of `HTTPError.Kind`.
  package func constants(of type: String) -> Set<String> { constantNames[type] ?? [] }

  private static func takes(_ labels: ArraySlice<Substring>, _ parameters: ArraySlice<Parameter>) -> Bool {
    guard let parameter = parameters.first else { return labels.isEmpty }
    if parameter.label == labels.first, takes(labels.dropFirst(), parameters.dropFirst()) { return true }
    return parameter.isOptional && takes(labels, parameters.dropFirst())
  }

  private static var declaration: Regex<(Substring, Substring, Substring?)> {
    /(?:^|\s)(class|struct|enum|protocol|extension|typealias|func|case|var|let|init)[?!]?(?: ([\w.`]+))?(?:<[^(]*>)?/
  }

  /// The parameters of a list that begins with its parenthesis.
  private static func parameters(_ text: Substring) -> [Parameter] {
    var (depth, parts) = (0, [""])
    loop: for character in text.replacing("->", with: "  ") {
      switch character {
      case "(", "[", "<": depth += 1
      case ")", "]", ">": depth -= 1
      case "," where depth == 1: parts.append("")
      default: break
      }
      if depth == 0 { break loop }
      if character != "," || depth > 1 { parts[parts.count - 1].append(character) }
    }
    parts[0] = String(parts[0].dropFirst())
    return parts.filter { !$0.isEmpty }.map { part in
      let words = part.drop { $0 == " " }
      let label = words.prefix { $0 != ":" && $0 != " " }
      return Parameter(label: words.contains(":") ? label : "_", isOptional: part.contains(" = "))
    }
  }
}
