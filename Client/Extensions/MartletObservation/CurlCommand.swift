@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// Builds a curl command for a POSIX shell.
@_spi(Toolkit) public struct CurlCommand {
  private let request: HTTPRequest
  private let redaction: Redaction
  private var remarks: [String] = []
  private var input: String?
  private var groups: [[String]] = []

  /// The maximum number of bytes of a body that is part of the command.
  private static let bodyLimit = 1 << 20
  /// The maximum number of bytes of an argument: Linux accepts at most 128 KiB.
  private static let wordLimit = 100_000

  init(_ request: HTTPRequest, redaction: Redaction) {
    self.request = request.addingBodyFields()
    self.redaction = redaction
  }

  /// Returns the command, after the remarks.
  mutating func text() -> String {
    var words = ["curl"]
    let body = bodyWords()
    words += methodWords(hasBody: !body.isEmpty)
    groups.append(words + [target()])
    addUser()
    addFields(hasBody: !body.isEmpty)
    if !body.isEmpty { groups.append(body) }
    addOptions()
    let command = groups.map { $0.joined(separator: " ") }.joined(separator: " \\\n  ")
    return remarks.map { "# \($0)\n" }.joined() + (input.map { $0 + " | " } ?? "") + command
  }

  /// The method, unless `--data` implies it: with `-L`, an explicit method would be kept after a redirect that changes
  /// it to GET.
  private func methodWords(hasBody: Bool) -> [String] {
    switch request.method {
    case .head: ["--head"]
    case .get where !hasBody: []
    case .post where hasBody && !isStreamed: []
    default: ["-X", Self.quoted(request.method.rawValue)]
    }
  }

  /// The URL without user information and fragment. `--globoff` is added if curl would take a part of it for a pattern.
  private func target() -> String {
    // curl leaves `%2e` in a path, and interprets hosts differently
    let url = request.url.normalized(keepsDotSegments: request.options.keepsDotSegments) ?? request.url
    let text = String(url.absoluteString.prefix { $0 != "#" })
    let shown = redaction.hidesNothing ? String(Redaction.withoutUser(text[...])) : redaction.redacted(reference: text)
    var options: [String] = []
    if shown.contains(where: { "[]{}".contains($0) }) { options.append("--globoff") }
    if shown.contains("/.") { options.append("--path-as-is") }
    return (options + [Self.quoted(shown)]).joined(separator: " ")
  }

  private mutating func addUser() {
    guard let user = request.url.user(percentEncoded: false), !request.fields.contains(.authorization) else { return }
    let password = request.url.password(percentEncoded: false) ?? ""
    let hidden = "\(redaction.placeholder):\(redaction.placeholder)"
    // A session waits for a challenge, and answers with the strongest scheme.
    groups.append(["--anyauth -u", Self.quoted(redaction.hidesNothing ? "\(user):\(password)" : hidden)])
  }

  private mutating func addFields(hasBody: Bool) {
    let fields = request.fields
    for (name, value) in redaction.redacted(fields) where !Self.framing.contains(name) {
      groups.append(["-H", Self.quoted(value.isEmpty ? "\(name.rawName);" : "\(name.rawName): \(value)")])
    }
    // The options against fields that curl would add by itself, although the engine does not.
    if !fields.contains(.accept), request.options.omittedFields.contains(.accept) {
      groups.append(["-H", "'Accept:'"])
    }
    if !fields.contains(.userAgent) { groups.append(["-H", "'User-Agent:'"]) }
    if hasBody, !isStreamed, !fields.contains(.contentType) { groups.append(["-H", "'Content-Type:'"]) }
    if hasBody, !isShort, !fields.contains(.expect) { groups.append(["-H", "'Expect:'"]) }
    guard !fields.contains(.acceptEncoding), !request.options.omittedFields.contains(.acceptEncoding) else {
      // Without the option, curl would write a coded body to the terminal.
      let codings = fields.list(.acceptEncoding).map { ASCII.trimmed($0.prefix { $0 != ";" }) }
      if codings.contains(where: { !ASCII.equalIgnoringCase(String($0), "identity") }) {
        groups.append(["--compressed"])
      }
      return
    }
    groups.append(fields.contains(.range) ? ["-H", "'Accept-Encoding: identity'"] : ["--compressed"])
  }

  private static let framing: Set<FieldName> = [.contentLength, .transferEncoding]

  private mutating func addOptions() {
    let policy = request.options.redirectPolicy
    switch policy.scope {
    case .none: break
    case .sameOrigin:
      remarks.append("redirects are followed within the origin only, which curl cannot do: it follows none")
    case .any:
      let isSecure = request.url.scheme.map { ASCII.equalIgnoringCase($0, "https") } ?? false
      let protocols = isSecure && !policy.allowsInsecure ? ["--proto-redir", "=https"] : []
      groups.append(["-L", "--max-redirs", String(max(0, policy.limit))] + protocols)
    }
    if let deadline = request.options.deadline {
      groups.append(["--max-time", String(max(0.001, deadline.inMilliseconds / 1000))])
    }
    if let rate = request.options.maximumRate { groups.append(["--limit-rate", String(rate.bytesPerSecond)]) }
    if let rate = request.options.minimumRate {
      groups.append(["--speed-limit", String(rate.bytesPerSecond)])
      groups.append(["--speed-time", String(max(1, Int(rate.span.inMilliseconds / 1000)))])
    }
  }
}

// MARK: - The body

extension CurlCommand {
  private var isStreamed: Bool {
    request.body.length == nil && request.body.file == nil
  }

  private var isShort: Bool { request.body.bytes.map { $0.count < 1 << 20 } ?? false }

  private mutating func bodyWords() -> [String] {
    guard !request.body.isEmpty else {
      // Without this, curl would send no Content-Length: 0.
      return [.post, .put, .patch].contains(request.method) ? ["--data-raw", "''"] : []
    }
    if let bytes = request.body.bytes { return words(of: redaction.redacted(bytes, type: request.fields.mediaType)) }
    if let file = request.body.file { return ["--data-binary", Self.quoted("@" + file.path)] }
    if request.body.hasTrailers {
      remarks.append("the body's trailers are missing, because curl has no option for them")
    }
    remarks.append("the body is a stream, which is not shown: bring it to the standard input")
    return isStreamed ? ["-T", "-"] : ["--data-binary", "@-"]
  }

  private mutating func words(of body: Data) -> [String] {
    guard body.count <= Self.bodyLimit, redaction.canSearch(request.fields) else {
      remarks.append("the body of \(body.count) bytes is not shown: bring it to the standard input")
      return ["--data-binary", "@-"]
    }
    if body.count <= Self.wordLimit, !body.contains(0), let text = String(validating: body, as: UTF8.self) {
      return ["--data-raw", Self.quoted(text)]
    }
    input = Self.printing(body)
    return ["--data-binary", "@-"]
  }

  /// Returns a word in single quotes, within which only the quote itself is special.
  @_spi(Toolkit) public static func quoted(_ word: String) -> String {
    "'" + word.replacingScalar("'", with: #"'\''"#) + "'"
  }

  /// Returns a command that prints these bytes: `printf` and its octal escapes are the same in all shells.
  @_spi(Toolkit) public static func printing(_ bytes: Data) -> String {
    var text = ""
    for byte in bytes {
      switch byte {
      // A hyphen at the beginning, of a multipart body for example, would be taken for an option.
      case UInt8(ascii: "-") where text.isEmpty: text += #"\055"#
      case UInt8(ascii: "%"): text += "%%"
      case 32...126 where byte != UInt8(ascii: "'") && byte != UInt8(ascii: "\\"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        text += #"\"# + byte.digits(3, radix: 8)
      }
    }
    return "printf '\(text)'"
  }
}

extension HTTPRequest {
  /// Returns a curl command for a POSIX shell that sends the same request as a session.
  ///
  /// ```swift
  /// print(request.curlCommand())
  /// // curl 'https://example.com/a?token=***' \
  /// //   -H 'Accept: application/json' \
  /// //   -H 'User-Agent:' \
  /// //   --compressed \
  /// //   -L --max-redirs 20
  /// ```
  ///
  /// It contains what this value contains, without the session's interceptors, cookies and options. The request of
  /// ``Martlet/Event/attempt(_:_:)`` has all of them except the cookies. A body that is not text is piped in with
  /// `printf`. A stream, or a body of more than 1 MiB, is omitted, with a remark on a separate line. curl decodes the
  /// response also if the request has an `Accept-Encoding` of its own, with which a session returns it as it was sent.
  ///
  /// - Parameter redaction: the secrets that are omitted. Use `.off` for a command that works with credentials; it is
  ///   then as secret as they are.
  public func curlCommand(redaction: Redaction = .standard) -> String {
    var command = CurlCommand(self, redaction: redaction)
    return command.text()
  }
}
