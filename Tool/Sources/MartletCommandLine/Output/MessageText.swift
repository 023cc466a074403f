import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Writes the heads of messages, without the secrets that the redaction hides.
struct MessageText: Sendable {
  let palette: Palette
  let redaction: Redaction
  /// Whether the fields are sorted by their names.
  var isSorted = false

  /// `GET /orders?state=open`, and the fields.
  func request(_ head: RequestHead) -> String {
    "\(palette.text(head.method.rawValue, .good)) \(Self.shown(redaction.redacted(head.url)))\n" + fields(head.fields)
  }

  /// `GET /orders?state=open HTTP/1.1`, and the fields.
  func request(_ head: WrittenHead) -> String {
    let target = Self.shown(redaction.redacted(reference: head.target))
    return palette.text(head.method.rawValue, .good) + " \(target) " + palette.text("\(head.version)", .dimmed) + "\n"
      + fields(head.fields)
  }

  /// `HTTP/1.1 200 OK`, and the fields.
  func response(_ head: ResponseHead) -> String { statusLine(head) + "\n" + fields(head.fields) }

  func statusLine(_ head: ResponseHead) -> String {
    let version = head.version.map { "\($0) " } ?? ""
    return palette.text(version, .dimmed) + status(head)
  }

  func status(_ head: ResponseHead) -> String {
    let style: Palette.Style =
      switch head.status.class {
      case .informational, .successful: .good
      case .redirection: .notice
      case .clientError, .serverError, .invalid: .bad
      }
    return palette.text(head.statusText, style)
  }

  func fields(_ fields: HTTPFields) -> String {
    var lines = redaction.redacted(fields).map { (name: $0.name, value: $0.value) }
    if isSorted { lines.sort { ASCII.lowercased($0.name.rawName) < ASCII.lowercased($1.name.rawName) } }
    return lines.map { line($0.name, $0.value) }.joined()
  }

  private func line(_ name: FieldName, _ value: String) -> String {
    palette.text(name.rawName, .name) + ": \(Self.shown(value))\n"
  }

  /// Returns the text without control characters. Octets above 127 that are UTF-8 are shown as characters.
  private static func shown(_ text: String) -> String {
    let bytes = FieldOctets.bytes(text)
    return (String(validating: bytes, as: UTF8.self) ?? text).printable
  }
}
