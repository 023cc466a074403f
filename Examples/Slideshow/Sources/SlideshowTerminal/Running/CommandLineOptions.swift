package import SlideshowModel

/// What the program was asked to do.
package struct CommandLineOptions: Sendable, Hashable {
  package var service: String?
  package var images: String?
  package var allowsInsecure = false
  package var state: String?
  package var cache: String?
  package var isOffline = false
  package var photos: String?
  package var isServing = false
  package var port: Int?
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
      case "--offline": isOffline = true
      case "--photos": photos = try Self.value(of: argument, &rest)
      case "--allow-insecure": allowsInsecure = true
      case "--serve": isServing = true
      case "--port": port = try Self.port(try Self.value(of: argument, &rest))
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

  private static func port(_ text: String) throws(Mistake) -> Int {
    guard let port = Int(text), (0...65535).contains(port) else {
      throw Mistake(description: "'\(text)' is no port: a number from 0 to 65535 is")
    }
    return port
  }

  /// What is configured under a key, here or in the environment; nil if nothing is.
  package func value(of key: SlideshowConfiguration.Key, environment: [String: String]) -> String? {
    (key == .service ? service : images) ?? environment[key.rawValue]
  }

  /// Whether nothing is configured at all: then the program brings its own service.
  package func needsDemo(environment: [String: String]) -> Bool {
    SlideshowConfiguration.Key.allCases.allSatisfy { value(of: $0, environment: environment) == nil }
  }

  package static let help = """
    slideshow: shows the slides of a web service in the terminal.

    usage: slideshow [--service URL --images URL] [--allow-insecure] [--state FILE] [--cache FILE]
           slideshow --offline
           slideshow --serve [--port N] [--photos FOLDER]

      --service URL      the JSON of the slideshow     (or environment: SlideWebServiceUrl)
      --images URL       the folder of its pictures    (or environment: ImageBaseUrl)
                         Without both, a demo service is started and shown.
      --allow-insecure   lets plain http leave this computer
      --state FILE       where favourites and title are kept
                         (default: $XDG_STATE_HOME or ~/.local/state, martlet-slideshow/state.json)
      --cache FILE       where pictures are kept, for when the service cannot be reached
                         (default: $XDG_CACHE_HOME or ~/.cache, martlet-slideshow/cache.sqlite)
      --offline          shows the demo as it was shown last, without its service
      --serve            only runs the demo service, until Ctrl-C
      --port N           its port: 8000 by default, 0 for a free one
      --photos FOLDER    what it serves: pictures and their holidayslideshow.json
      --help             this text

    keys: → space n next   ← p previous   tab 1 2 list and preview   f favourite   enter z full screen
          t title   r reload   q Ctrl-C quit

    Where standard output is no terminal, the slides are printed one a line.
    """
}
