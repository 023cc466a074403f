import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics

/// A request as text for a terminal or a program, without secrets.
enum RequestCopies {
  static func all(of request: HTTPRequest, _ redaction: Redaction) -> [String: String] {
    [
      "curl": request.curlCommand(redaction: redaction), "martlet": martlet(request, redaction),
      "Swift": swift(request, redaction),
    ]
  }

  /// The secrets that the copies omit, for the confirmation.
  struct Omissions: Encodable {
    /// The places of placeholders for secrets: names of fields, `URL`, `body`.
    let hidden: [String]
    /// The fields that the session added, with credentials for example.
    let added: [String]
    /// Why the copies lack the body; nil if they have it, or there is none.
    let body: String?

    init(_ request: HTTPRequest, sentWith sent: HTTPFields, body: String?, _ redaction: Redaction) {
      self.body = body
      let names = sent.map(\.name).filter(redaction.hides)
      added = Self.texts(of: names.filter { !request.fields.contains($0) })
      let url = redaction.redacted(request.url)
      let isHidden = !redaction.hidesNothing
      let text = RequestCopies.text(of: request, redaction) ?? ""
      hidden =
        Self.texts(of: request.fields.map(\.name).filter(redaction.hides))
        + (isHidden && (url != request.url.absoluteString || url.contains(redaction.placeholder)) ? ["URL"] : [])
        + (isHidden && text.contains(redaction.placeholder) ? ["body"] : [])
    }

    private static func texts(of names: [FieldName]) -> [String] { Set(names.map(\.rawName.printable)).sorted() }
  }

  private static let commands: Set<String> = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]

  /// A command of the tool; a comment for a method that it has no command for.
  private static func martlet(_ request: HTTPRequest, _ redaction: Redaction) -> String {
    let method = request.method.rawValue
    guard commands.contains(method) else { return "# martlet has no command for \(method)" }
    var words = ["martlet", method.lowercased(), CurlCommand.quoted(redaction.redacted(request.url))]
    var input = ""
    if let text = text(of: request, redaction) {
      words += ["--raw", CurlCommand.quoted(text)]
    } else if let bytes = request.body.bytes, !bytes.isEmpty {
      input = "\(CurlCommand.printing(bytes)) | "
    }
    words += redaction.redacted(request.fields).map { CurlCommand.quoted(item($0.name.rawName, $0.value)) }
    return input + words.joined(separator: " ")
  }

  /// A field as an item of the tool. An empty value has its own form. A first character that would turn the colon into
  /// another separator is escaped.
  private static func item(_ name: String, _ value: String) -> String {
    if value.isEmpty { return name + ";" }
    return name + ":" + (value.hasPrefix("=") || value.hasPrefix("@") ? "\\" : "") + value
  }

  private static func swift(_ request: HTTPRequest, _ redaction: Redaction) -> String {
    let method = request.method.rawValue.lowercased()
    let isNamed = commands.contains(request.method.rawValue)
    let name = isNamed ? ".\(method)" : "HTTPMethod(\(literal(request.method.rawValue)))"
    var lines = [
      "let url = URL(string: \(literal(redaction.redacted(request.url))))!",
      "var request = HTTPRequest(\(name), url)",
    ]
    for (field, value) in redaction.redacted(request.fields) {
      lines.append("request.fields.append(\(literal(value)), for: \(literal(field.rawName)))")
    }
    if let text = text(of: request, redaction) {
      lines.append("request.body = .data(Data(\(literal(text)).utf8))")
    } else if let bytes = request.body.bytes, !bytes.isEmpty {
      lines.append("request.body = .data(Data(base64Encoded: \(literal(bytes.base64EncodedString())))!)")
    }
    lines.append("let (data, response) = try await session.data(for: request)")
    return lines.joined(separator: "\n")
  }

  /// The body, if it is text in memory.
  fileprivate static func text(of request: HTTPRequest, _ redaction: Redaction) -> String? {
    guard let bytes = request.body.bytes, !bytes.isEmpty, bytes.count <= 100_000, !bytes.contains(0) else { return nil }
    return String(validating: redaction.redacted(bytes, type: request.fields.mediaType), as: UTF8.self)
  }

  /// The text as a literal of Swift.
  private static func literal(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.properties.generalCategory == .control || scalar.changesDirection:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
