package import SlideshowModel

/// The options of the command line.
package struct CommandLineOptions: Sendable, Hashable {
  package var service: String?
  package var images: String?
  /// The property list that contains the URLs.
  package var infoPropertyList: InfoPropertyList?
  package var allowsInsecure = false
  package var state: String?
  package var cache: String?
  /// The seconds between two requests for slides; 0 for no further request.
  package var poll = 3
  /// Whether the slides play automatically from the beginning.
  package var isPlaying = false
  /// The number of seconds for which each slide is then shown.
  package var interval = 5
  package var isOffline = false
  package var photos: String?
  package var isServing = false
  package var port: Int?
  /// The maximum number of bytes that the demo service sends per second; nil for no limit.
  package var rate: Int?
  /// Whether a browser may watch the requests.
  package var isInspected = false
  package var wantsHelp = false
  package var wantsVersion = false
  private var given: Set<CommandLineOption> = []

  /// A mistake on the command line.
  package struct Mistake: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// Parses the arguments, without the program's name. With `--help` or `--version`, the rest is ignored.
  package init(_ arguments: [String]) throws {
    wantsHelp = arguments.contains { $0 == "--help" || $0 == "-h" }
    wantsVersion = arguments.contains("--version")
    guard !wantsHelp, !wantsVersion else { return }
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      guard let option = CommandLineOption(rawValue: argument) else {
        throw Mistake(description: "unknown option '\(argument)': see --help")
      }
      guard given.insert(option).inserted else {
        throw Mistake(description: "\(argument) is given twice: leave one out")
      }
      try take(option, &rest)
    }
    if port != nil, !isServing { throw Mistake(description: "--port belongs to --serve") }
    try refuseContradictions()
  }

  private mutating func take(_ option: CommandLineOption, _ rest: inout ArraySlice<String>) throws {
    switch option {
    case .service: service = try Self.value(of: option, &rest)
    case .images: images = try Self.value(of: option, &rest)
    case .infoPropertyList: infoPropertyList = try InfoPropertyList(file: try Self.value(of: option, &rest))
    case .allowInsecure: allowsInsecure = true
    case .state: state = try Self.value(of: option, &rest)
    case .cache: cache = try Self.value(of: option, &rest)
    case .poll: poll = try Self.number(option, 0...86_400, "seconds", &rest)
    case .autoplay: isPlaying = true
    case .interval: interval = try Self.number(option, 1...86_400, "seconds", &rest)
    case .offline: isOffline = true
    case .photos: photos = try Self.value(of: option, &rest)
    case .rate: rate = try Self.number(option, 1...1_000_000_000, "bytes", &rest)
    case .inspect: isInspected = true
    case .serve: isServing = true
    case .port: port = try Self.number(option, 0...65_535, "port", &rest)
    case .version, .help: break
    }
  }

  private func refuseContradictions() throws(Mistake) {
    for contradiction in CommandLineOption.contradictions where given.contains(contradiction.option) {
      guard let other = contradiction.others.first(where: given.contains) else { continue }
      throw Mistake(
        description: "\(contradiction.option.rawValue) and \(other.rawValue) contradict each other: "
          + "\(contradiction.reason). Leave one of them out")
    }
  }

  private static func value(
    of option: CommandLineOption, _ rest: inout ArraySlice<String>
  ) throws(Mistake) -> String {
    guard let value = rest.popFirst() else {
      throw Mistake(description: "\(option.rawValue) needs a value: see --help")
    }
    return value
  }

  private static func number(
    _ option: CommandLineOption, _ range: ClosedRange<Int>, _ unit: String, _ rest: inout ArraySlice<String>
  ) throws(Mistake) -> Int {
    let text = try value(of: option, &rest)
    guard let number = Int(text), range.contains(number) else {
      throw Mistake(
        description: "\(option.rawValue) \(text): no number of \(unit) from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

// The source of the slideshow.
extension CommandLineOptions {
  /// The value configured for a key: in its option, otherwise in the property list, or without one in the environment.
  /// Nil if there is none.
  package func value(of key: SlideshowConfiguration.Key, environment: [String: String]) -> String? {
    if let value = key == .service ? service : images { return value }
    if let infoPropertyList { return infoPropertyList[key] }
    return environment[key.rawValue]
  }

  /// Whether nothing is configured at all: then the program provides its own service.
  ///
  /// - Throws: `Mistake` if an option is for the demo, but the environment names another slideshow.
  package func needsDemo(environment: [String: String]) throws(Mistake) -> Bool {
    guard infoPropertyList == nil, service == nil, images == nil else { return false }
    guard let key = SlideshowConfiguration.Key.allCases.first(where: { environment[$0.rawValue] != nil }) else {
      return true
    }
    if let option = [.offline, .photos, .rate].first(where: given.contains) {
      throw Mistake(
        description: "\(option.rawValue) and \(key.rawValue) in the environment contradict each other: "
          + "\(option.rawValue) is for the demo. Leave it out, or unset \(key.rawValue)")
    }
    return false
  }
}
