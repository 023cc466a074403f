import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The text of `--write-out`, in curl's syntax: `%{http_code}`, `%header{name}`, `%%`, `\n`, `\r` and `\t`.
struct WriteOut: Sendable {
  /// The variables, under curl's names.
  enum Variable: String, Sendable, CaseIterable {
    case httpCode = "http_code"
    case responseCode = "response_code"
    case httpVersion = "http_version"
    case method, scheme, url
    case effectiveURL = "url_effective"
    case contentType = "content_type"
    case redirectURL = "redirect_url"
    case redirects = "num_redirects"
    case remoteAddress = "remote_ip"
    case remotePort = "remote_port"
    case localPort = "local_port"
    case received = "size_download"
    case sent = "size_upload"
    case headReceived = "size_header"
    case speed = "speed_download"
    case nameLookup = "time_namelookup"
    case connect = "time_connect"
    case secureConnect = "time_appconnect"
    case requestStart = "time_pretransfer"
    case firstByte = "time_starttransfer"
    case redirectTime = "time_redirect"
    case total = "time_total"
    case exitCode = "exitcode"
    case error = "errormsg"
  }

  private enum Piece: Sendable {
    case text(String)
    case variable(Variable)
    case field(FieldName)
  }

  private var pieces: [Piece] = []

  /// Reads a format; nil without `--write-out`.
  init?(_ arguments: ParsedArguments, _ files: InputFiles) throws(UsageError) {
    guard let value = arguments.value(.writeOut) else { return nil }
    try self.init(value.hasPrefix("@") ? files.contents(of: String(value.dropFirst())) : value)
  }

  init(_ format: String) throws(UsageError) {
    var rest = format[...]
    var text = ""
    while let character = rest.popFirst() {
      switch (character, rest.first) {
      case ("\\", "n"?), ("\\", "r"?), ("\\", "t"?):
        text +=
          rest.removeFirst() == "n" ? "\n" : rest.base[rest.base.index(before: rest.startIndex)] == "r" ? "\r" : "\t"
      case ("%", "%"?): text.append(rest.removeFirst())
      case ("%", "{"?), ("%", "h"?):
        guard let piece = try Self.piece(&rest) else {
          text.append(character)
          continue
        }
        pieces += [.text(text), piece]
        text = ""
      default: text.append(character)
      }
    }
    pieces.append(.text(text))
  }

  /// Reads what follows a percent sign; nil if it is no variable.
  private static func piece(_ rest: inout Substring) throws(UsageError) -> Piece? {
    let isField = rest.hasPrefix("header{")
    guard isField || rest.hasPrefix("{"), let end = rest.firstIndex(of: "}") else { return nil }
    let name = String(rest[..<end].drop { $0 != "{" }.dropFirst())
    rest = rest[rest.index(after: end)...]
    if isField {
      guard let field = try? FieldName(name) else {
        throw UsageError("--write-out: '\(name)' in %header{…} is not a field name")
      }
      return .field(field)
    }
    guard let variable = Variable(rawValue: name) else {
      let names = Variable.allCases.map(\.rawValue)
      let hint = Spelling.nearest(to: name, among: names).map { "did you mean %{\($0)}?" }
      throw UsageError("--write-out has no variable '\(name)': \(hint ?? "there are " + names.joined(separator: ", "))")
    }
    return .variable(variable)
  }

  /// Returns the text for a call that has ended.
  func text(_ measurements: FirstCallMeter.Measurements, of request: HTTPRequest, endedBy failure: Failure?) -> String {
    pieces.map { piece in
      switch piece {
      case .text(let text): text
      case .field(let name): measurements.response?.fields[name] ?? ""
      case .variable(let variable): Self.value(variable, measurements, request, failure)
      }
    }.joined()
  }

  private static func value(
    _ variable: Variable, _ measurements: FirstCallMeter.Measurements, _ request: HTTPRequest, _ failure: Failure?
  ) -> String {
    let (attempt, url) = (measurements.attempt, measurements.url ?? request.url)
    let seconds = { (duration: Duration) in FirstCallMeter.Measurements.seconds(duration) }
    return switch variable {
    case .httpCode, .responseCode: measurements.response.map { "\($0.status.code)" } ?? "000"
    case .httpVersion: attempt.version.map { $0.rawValue.replacing("HTTP/", with: "") } ?? "0"
    case .method: (measurements.method ?? request.method).rawValue
    case .scheme: url.scheme ?? ""
    case .url: request.url.absoluteString
    case .effectiveURL: url.absoluteString
    case .contentType: measurements.response?.fields[.contentType] ?? ""
    case .redirectURL: redirect(measurements.response, at: url)
    case .redirects: "\(measurements.redirects)"
    case .remoteAddress: attempt.remoteAddress ?? ""
    case .remotePort: "\(attempt.remotePort ?? 0)"
    case .localPort: "\(attempt.localPort ?? 0)"
    case .received: "\(attempt.bytesReceived)"
    case .sent: "\(attempt.bytesSent)"
    case .headReceived: "\(attempt.headerBytesReceived)"
    case .speed: speed(attempt)
    case .nameLookup: seconds(attempt.nameLookup)
    case .connect: seconds(attempt.connect)
    case .secureConnect: seconds(attempt.secureConnect)
    case .requestStart: seconds(attempt.requestStart)
    case .firstByte: seconds(attempt.firstByte)
    case .redirectTime: seconds(measurements.redirectTime)
    case .total: seconds(measurements.total)
    case .exitCode: "\((failure?.code ?? .success).rawValue)"
    case .error: failure?.lines.first ?? ""
    }
  }

  /// The target of a redirect that was not followed.
  private static func redirect(_ response: ResponseHead?, at url: URL) -> String {
    guard let response, response.status.class == .redirection, let location = response.fields[.location] else {
      return ""
    }
    return URL(reference: location, relativeTo: url)?.absoluteString ?? location
  }

  private static func speed(_ attempt: TransferMetrics) -> String {
    let time = attempt.total / .seconds(1)
    return time > 0 ? "\(Int64(Double(attempt.bytesReceived) / time))" : "0"
  }
}
