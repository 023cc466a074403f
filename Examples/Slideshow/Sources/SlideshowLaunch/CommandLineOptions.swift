package import SlideshowModel

/// What a program was asked to do.
package struct CommandLineOptions: Sendable, Hashable {
  package var service: String?
  package var images: String?
  package var allowsInsecure = false
  package var state: String?
  package var cache: String?
  /// After how many seconds the service is asked again; 0 for never.
  package var poll = 3
  package var isOffline = false
  package var photos: String?
  package var isServing = false
  package var port: Int?
  /// The most bytes that the demo service sends in a second; nil for all that it can.
  package var rate: Int?
  package var wantsHelp = false

  /// A mistake on the command line.
  package struct Mistake: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// Reads the arguments, without the program's name.
  package init(_ arguments: [String]) throws(Mistake) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--service": service = try Self.value(of: argument, &rest)
      case "--images": images = try Self.value(of: argument, &rest)
      case "--state": state = try Self.value(of: argument, &rest)
      case "--cache": cache = try Self.value(of: argument, &rest)
      case "--poll": poll = try Self.number(argument, 0...86_400, "seconds", &rest)
      case "--offline": isOffline = true
      case "--photos": photos = try Self.value(of: argument, &rest)
      case "--allow-insecure": allowsInsecure = true
      case "--serve": isServing = true
      case "--port": port = try Self.number(argument, 0...65_535, "port", &rest)
      case "--rate": rate = try Self.number(argument, 1...1_000_000_000, "bytes", &rest)
      case "--help", "-h": wantsHelp = true
      default: throw Mistake(description: "unknown option '\(argument)': see --help")
      }
    }
    if port != nil, !isServing { throw Mistake(description: "--port belongs to --serve") }
  }

  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(Mistake) -> String {
    guard let value = rest.popFirst() else { throw Mistake(description: "\(option) needs a value: see --help") }
    return value
  }

  private static func number(
    _ option: String, _ range: ClosedRange<Int>, _ unit: String, _ rest: inout ArraySlice<String>
  ) throws(Mistake) -> Int {
    let text = try value(of: option, &rest)
    guard let number = Int(text), range.contains(number) else {
      throw Mistake(
        description: "\(option) \(text): no number of \(unit) from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// What is configured under a key, here or in the environment; nil if nothing is.
  package func value(of key: SlideshowConfiguration.Key, environment: [String: String]) -> String? {
    (key == .service ? service : images) ?? environment[key.rawValue]
  }

  /// Whether nothing is configured at all: then the program brings its own service.
  package func needsDemo(environment: [String: String]) -> Bool {
    SlideshowConfiguration.Key.allCases.allSatisfy { value(of: $0, environment: environment) == nil }
  }
}
