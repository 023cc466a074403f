/// The displayed parts and their form. The options and the destination of the output decide.
struct OutputChoice: Sendable {
  /// The parts of the exchange on standard output.
  struct Parts: OptionSet, Sendable {
    let rawValue: Int

    static let requestHead = Parts(rawValue: 1)
    static let requestBody = Parts(rawValue: 2)
    static let responseHead = Parts(rawValue: 4)
    static let responseBody = Parts(rawValue: 8)
    static let metadata = Parts(rawValue: 16)
  }

  let parts: Parts
  let isFormatted: Bool
  /// Whether fields and members are sorted.
  let isSorted: Bool
  /// The colors on standard output.
  let palette: Palette
  /// The colors on standard error.
  let errorPalette: Palette
  let isForTerminal: Bool

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) throws(UsageError) {
    let isTerminal = environment.output.isTerminal
    isForTerminal = isTerminal
    parts = try Self.parts(arguments, isTerminal: isTerminal)
    let pretty = arguments.value(.pretty) ?? (isTerminal ? "all" : "none")
    isFormatted = pretty == "all" || pretty == "format"
    if arguments.has(.sorted), arguments.has(.unsorted) {
      throw UsageError("--sorted and --unsorted cannot be combined: leave one out")
    }
    isSorted = isFormatted && arguments.has(.sorted)
    let theme = arguments.value(.style).flatMap { Palette.Theme(rawValue: $0) } ?? .auto
    let allowsColors = pretty == "all" || pretty == "colors" || arguments.value(.pretty) == nil
    palette = Palette(
      isColored: allowsColors && Self.isColored(arguments, environment, arguments.value(.pretty) != nil || isTerminal),
      theme: theme)
    errorPalette = Palette(
      isColored: Self.isColored(arguments, environment, environment.errors.isTerminal), theme: theme)
  }

  /// Whether to use colors: `--color` decides, then `NO_COLOR` (no-color.org), then whether there is a terminal with
  /// colors.
  private static func isColored(
    _ arguments: ParsedArguments, _ environment: ToolEnvironment, _ isWanted: Bool
  ) -> Bool {
    switch arguments.value(.color) {
    case "always": true
    case "never": false
    default:
      isWanted && environment.variables["NO_COLOR", default: ""].isEmpty
        && environment.variables["TERM"] != "dumb"
    }
  }

  private static func parts(_ arguments: ParsedArguments, isTerminal: Bool) throws(UsageError) -> Parts {
    if let letters = arguments.value(.print) {
      var parts: Parts = []
      for letter in letters {
        switch letter {
        case "H": parts.insert(.requestHead)
        case "B": parts.insert(.requestBody)
        case "h": parts.insert(.responseHead)
        case "b": parts.insert(.responseBody)
        case "m": parts.insert(.metadata)
        default: throw UsageError("--print knows H, B, h, b and m, and not '\(letter)'")
        }
      }
      return parts
    }
    if arguments.has(.quiet) { return [] }
    if arguments.has(.offline) { return [.requestHead, .requestBody] }
    if arguments.has(.headers) { return .responseHead }
    if arguments.has(.meta) { return .metadata }
    if arguments.has(.body) { return .responseBody }
    if arguments.method == "HEAD" { return .responseHead }
    // With --verbose, standard error shows the heads.
    return isTerminal && !arguments.has(.verbose) ? [.responseHead, .responseBody] : .responseBody
  }
}
