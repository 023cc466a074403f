/// An option of the command line: its name, its value and its purpose. The command line is parsed with these options,
/// and the help is made from them.
package enum CommandLineOption: String, Sendable, Hashable, CaseIterable {
  case service = "--service"
  case images = "--images"
  case infoPropertyList = "--info-plist"
  case allowInsecure = "--allow-insecure"
  case state = "--state"
  case cache = "--cache"
  case poll = "--poll"
  case autoplay = "--autoplay"
  case interval = "--interval"
  case offline = "--offline"
  case photos = "--photos"
  case rate = "--rate"
  case inspect = "--inspect"
  case serve = "--serve"
  case port = "--port"
  case version = "--version"
  case help = "--help"

  /// The name of its value; nil for an option without one.
  var value: String? {
    switch self {
    case .service, .images: "URL"
    case .infoPropertyList, .state, .cache: "FILE"
    case .poll, .interval, .rate, .port: "N"
    case .photos: "FOLDER"
    case .allowInsecure, .autoplay, .offline, .inspect, .serve, .version, .help: nil
    }
  }

  /// Its purpose, in lines of at most 57 columns.
  var purpose: [String] {
    switch self {
    case .service: ["the JSON of the slideshow", "(or environment: SlideWebServiceUrl)"]
    case .images: ["the folder of its pictures", "(or environment: ImageBaseUrl)"]
    case .infoPropertyList:
      ["an Info.plist with SlideWebServiceUrl and ImageBaseUrl,", "asked in place of the environment"]
    case .allowInsecure: ["lets plain http leave this computer"]
    case .state:
      [
        "where favourites and title are kept: state.json in", "$XDG_STATE_HOME/martlet-slideshow by default,",
        "or in ~/.local/state/martlet-slideshow",
      ]
    case .cache:
      [
        "where pictures are kept, for when the service is away:",
        "cache.sqlite in $XDG_CACHE_HOME/martlet-slideshow by",
        "default, or in ~/.cache/martlet-slideshow",
      ]
    case .poll: ["asks the service every N seconds whether the slides", "changed: 3 by default, 0 never"]
    case .autoplay: ["starts with auto-play: one slide after another"]
    case .interval: ["how many seconds the auto-play shows a slide: 5 by default"]
    case .offline: ["shows the demo as it was shown last, without its service"]
    case .photos: ["what the demo service serves: pictures, and their", "holidayslideshow.json"]
    case .rate: ["the most bytes that the demo service sends in a second"]
    case .inspect: ["shows its requests in a browser, at the URL that it prints"]
    case .serve: ["only runs the demo service, until Ctrl-C"]
    case .port: ["its port, with --serve: 8000 by default, 0 for a free one"]
    case .version: ["the program's version"]
    case .help: ["this text"]
    }
  }

  /// The lines of the help.
  var help: String {
    let name = "  " + rawValue + (value.map { " " + $0 } ?? "")
    let column = 21
    return purpose.enumerated().map { number, line in
      let start = number == 0 ? name : ""
      return start + String(repeating: " ", count: max(1, column - start.count)) + line
    }.joined(separator: "\n")
  }

  /// Options that make no sense together, and the reason.
  struct Contradiction: Sendable {
    let option: CommandLineOption
    let others: [CommandLineOption]
    let reason: String
  }

  private static let addresses: [CommandLineOption] = [.service, .images, .infoPropertyList]

  /// The refused combinations.
  static let contradictions = [
    Contradiction(
      option: .offline, others: addresses, reason: "--offline shows the demo, and the other one another slideshow"),
    Contradiction(
      option: .offline, others: [.photos, .rate], reason: "--offline starts no demo service, which the other one is for"
    ),
    Contradiction(
      option: .serve,
      others: addresses + [.allowInsecure, .state, .cache, .poll, .autoplay, .interval, .offline, .inspect],
      reason: "--serve shows no slides, which the other one is for"),
    Contradiction(
      option: .photos, others: addresses, reason: "--photos is for the demo service, which is not started then"),
    Contradiction(
      option: .rate, others: addresses, reason: "--rate is for the demo service, which is not started then"),
  ]
}
