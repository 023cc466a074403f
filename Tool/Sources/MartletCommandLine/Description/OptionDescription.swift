/// The description of an option for the parser, the help, the completions and the manual page.
struct OptionDescription: Sendable {
  /// The value after an option's name.
  enum Value: Sendable, Hashable {
    /// Nothing: the option is a switch.
    case none
    /// Any text, shown in help under this name.
    case text(String)
    /// The path of a file.
    case file
    /// The path of a folder.
    case folder
    /// One of these words.
    case oneOf([String])
    /// A number of seconds up to ``limit``, with or without a fraction.
    case seconds
    /// A whole number from 0 to ``limit``.
    case count
    /// A number of bytes a second from 1 to ``limit``, which `k`, `M` or `G` may follow, as in curl: `500k`.
    case rate

    /// The largest number: a billion, so that sums of numbers and of durations do not overflow.
    static let limit = 1_000_000_000
  }

  let name: OptionName
  let short: Character?
  let value: Value
  /// Whether it may be given several times; otherwise the last one counts.
  let isRepeatable: Bool
  /// One sentence or two, without a period at the end of the first line of help.
  let help: String

  init(
    _ name: OptionName, short: Character? = nil, _ value: Value, repeatable: Bool = false, _ help: String
  ) {
    (self.name, self.short, self.value, self.isRepeatable, self.help) = (name, short, value, repeatable, help)
  }

  /// Makes a switch.
  init(_ name: OptionName, short: Character? = nil, _ help: String) {
    self.init(name, short: short, .none, help)
  }

  /// The name with its value, as in the help: `-o, --output FILE`.
  var usage: String {
    let names = short.map { "-\($0), --\(name.rawValue)" } ?? "--\(name.rawValue)"
    return placeholder.map { "\(names) \($0)" } ?? names
  }

  /// The name of the value in the help; nil for a switch.
  var placeholder: String? {
    switch value {
    case .none: nil
    case .text(let name): name
    case .file: "FILE"
    case .folder: "FOLDER"
    case .oneOf(let words): words.joined(separator: "|")
    case .seconds: "SECONDS"
    case .count: "NUMBER"
    case .rate: "RATE"
    }
  }

  /// The reason why a value cannot be used; nil if it can.
  func fault(in text: String) -> String? {
    switch value {
    case .none, .text: return nil
    case .file, .folder: return text.isEmpty ? "it is empty" : nil
    case .oneOf(let words):
      guard !words.contains(text) else { return nil }
      let hint = Spelling.nearest(to: text, among: words).map { ": did you mean '\($0)'?" } ?? ""
      return "'\(text)' is none of \(words.joined(separator: ", "))\(hint)"
    case .seconds:
      guard let seconds = Double(text), seconds > 0, seconds <= Double(Value.limit) else {
        return "'\(text)' is not a number of seconds above 0, up to \(Value.limit)"
      }
      return nil
    case .count:
      guard let count = Int(text), (0...Value.limit).contains(count) else {
        return "'\(text)' is not a whole number from 0 to \(Value.limit)"
      }
      return nil
    case .rate:
      guard Self.rate(text) == nil else { return nil }
      return "'\(text)' is not a number of bytes a second from 1 to \(Value.limit), such as 500k or 1.5M"
    }
  }
}

extension OptionDescription {
  /// The bytes a second that a text names; nil if it names none. As in curl, `k` stands for 1024 bytes.
  static func rate(_ text: String) -> Int? {
    let powers: [Character: Double] = ["k": 1024, "m": 1024 * 1024, "g": 1024 * 1024 * 1024]
    let factor = text.last.flatMap { powers[Character($0.lowercased())] }
    guard let number = Double(factor == nil ? text : String(text.dropLast())) else { return nil }
    let rate = number * (factor ?? 1)
    return rate >= 1 && rate <= Double(Value.limit) ? Int(rate) : nil
  }
}

/// The options of all commands, under the names that follow the two dashes.
enum OptionName: String, Sendable, Hashable, CaseIterable {
  // the request
  case json, form, multipart, raw, boundary, compress, chunked
  case uploadFile = "upload-file"
  case ignoreStandardInput = "ignore-stdin"
  // what to show
  case print, headers, body, meta, all, verbose, events, quiet, pretty, sorted, color, style, image, curl, offline
  case writeOut = "write-out"
  case showSecrets = "show-secrets"
  // files
  case download, output, overwrite
  case remoteName = "remote-name"
  case har, replay, timeline
  // what to keep
  case session, cookies, cache
  case sessionReadOnly = "session-read-only"
  case onlyCached = "only-cached"
  // authentication
  case auth
  case authType = "auth-type"
  case netrc
  case netrcFile = "netrc-file"
  case csrf
  case awsSignature = "aws-sigv4"
  case dpop, sign, digest
  case signID = "sign-id"
  case signAlgorithm = "sign-algorithm"
  case signCovering = "sign-covering"
  case verifySignature = "verify-signature"
  // behavior
  case correlation, language, retry, timeout, deadline
  case limitRate = "limit-rate"
  case speedLimit = "speed-limit"
  case speedTime = "speed-time"
  case noRedirects = "no-redirects"
  case maxRedirects = "max-redirects"
  case defaultScheme = "default-scheme"
  case pathAsIs = "path-as-is"
  case checkStatus = "check-status"
  // connections
  case proxy, ca, cert, key
  case certPassword = "cert-password"
  case pin, insecure, verify, ssl, http1, http2, resolve, interface
  case unixSocket = "unix-socket"
  // what happens without them, too
  case follow, stream, unsorted
  case continuing = "continue"
  case ignoreNetrc = "ignore-netrc"
  // messages of a WebSocket
  case subprotocol, binary, ping, count
  // serve, record and inspect
  case port, host, tls, origin, inspect
  case delay, status, truncate, stall, reset
  // everywhere
  case help, version
}
