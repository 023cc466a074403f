/// What an encoder's or a decoder's error says, in words that show nothing of the value.
struct CodingFailure {
  let error: any Error

  /// What is wrong.
  var reason: String {
    switch error {
    case DecodingError.keyNotFound: "a key is missing"
    case DecodingError.typeMismatch(let type, _): "something else stands where a \(type) should be"
    case DecodingError.valueNotFound(let type, _): "null stands where a \(type) should be"
    case DecodingError.dataCorrupted: "the JSON is damaged, or a value is none of its type"
    default: "it cannot be decoded"
    }
  }

  /// ` at 'a.b[2]'`: where in the value; empty where that is the whole, or not known.
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
}
