@_spi(Toolkit) import MartletSemantics

/// Describes an encoder's or a decoder's error without showing any of the value.
struct CodingFailure {
  let error: any Error
  /// The data that was decoded; nil for an encoder's error.
  var body: Data?

  /// The fault and its position.
  var reason: String {
    switch error {
    case DecodingError.keyNotFound: "missing key\(place)"
    case DecodingError.typeMismatch(let type, _): "type mismatch: expected \(name(of: type))\(place)"
    case DecodingError.valueNotFound(let type, _): "unexpected null: expected \(name(of: type))\(place)"
    case DecodingError.dataCorrupted: syntaxFault ?? "invalid value\(place)"
    default: "it cannot be decoded\(place)"
    }
  }

  /// Returns the name of the expected type: for a container the decoder does not report the program's type.
  private func name(of type: Any.Type) -> String {
    if type == [Any].self { return "an array" }
    return type == [String: Any].self ? "an object" : "\(type)"
  }

  /// The path within the value, as ` at 'a.b[2]'`; empty for the whole value, or if the path is not known.
  var place: String {
    let path: [any CodingKey] =
      switch error {
      case EncodingError.invalidValue(_, let context): context.codingPath
      case DecodingError.keyNotFound(let key, let context): context.codingPath + [key]
      case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
        DecodingError.dataCorrupted(let context):
        context.codingPath
      default: []
      }
    let text = path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
    return text.isEmpty ? "" : " at '\(text.hasPrefix(".") ? String(text.dropFirst()) : text)'"
  }

  /// The reason why the body is not JSON; nil if it is JSON and one of its values is invalid.
  private var syntaxFault: String? {
    guard let body, let fault = JSONSyntax.fault(in: body) else { return nil }
    guard let first = body.first(where: { ![9, 10, 13, 32].contains($0) }) else { return "it is empty" }
    return first == UInt8(ascii: "<") ? "it is HTML or XML, not JSON" : "invalid JSON at \(fault)"
  }
}
