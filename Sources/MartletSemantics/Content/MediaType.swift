/// A media type (RFC 9110 §8.3.1): what `Content-Type` names and `Accept` asks for.
///
/// ```swift
/// fields.mediaType?.matches("application/json")   // whatever the charset
/// let type: MediaType = "text/html; charset=utf-8"
/// type.charset   // "utf-8"
/// ```
///
/// Reading is forgiving, writing is strict. Two types are equal if their type, subtype and parameters are, whatever
/// the case of names and of the charset, and whatever the order of the parameters.
public struct MediaType: Sendable {
  /// The type, in lower case: `text`; `*` in a range.
  public let type: String
  /// The subtype, in lower case: `html`; `*` in a range.
  public let subtype: String
  /// The parameters: `charset`, `boundary`.
  public var parameters: FieldParameters

  /// Reads a media type as it comes from outside.
  ///
  /// Forgiving: case and white space do not matter, and parameters that are none are left out.
  ///
  /// - Parameter text: `text/html; charset=utf-8`.
  /// - Returns: nil if type or subtype is missing, or no token.
  public init?(_ text: some StringProtocol) {
    let text = Substring(text)
    let end = text.utf8.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
    guard let slash = text[..<end].utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let type = ASCII.trimmed(text[..<slash])
    let subtype = ASCII.trimmed(text[text.utf8.index(after: slash)..<end])
    guard Token.isValid(type), Token.isValid(subtype) else { return nil }
    self.type = ASCII.lowercased(type)
    self.subtype = ASCII.lowercased(subtype)
    parameters = FieldParameters(parsing: text[end...])
  }

  /// The type without its parameters: `text/html`.
  public var essence: String { "\(type)/\(subtype)" }

  /// The `charset` parameter, as it was written; nil if there is none. Charsets are compared without case.
  public var charset: String? { parameters["charset"] }

  /// What follows the last plus sign of the subtype (RFC 6838 §4.2.8): `json` in `application/problem+json`.
  public var suffix: String? {
    guard let plus = subtype.utf8.lastIndex(of: UInt8(ascii: "+")) else { return nil }
    let suffix = subtype[subtype.utf8.index(after: plus)...]
    return suffix.isEmpty ? nil : String(suffix)
  }

  /// Whether the content is JSON: `application/json`, `text/json`, or a subtype with the suffix `+json`.
  public var isJSON: Bool { suffix == "json" || (subtype == "json" && (type == "application" || type == "text")) }

  /// Whether the type lies in a range (RFC 9110 §12.5.1): `*/*`, `image/*`, or a type itself.
  ///
  /// Parameters of the range must be there and equal; others do not matter, nor does the range's weight, `q`.
  public func matches(_ range: MediaType) -> Bool {
    guard range.type == "*" || range.type == type, range.subtype == "*" || range.subtype == subtype else {
      return false
    }
    return range.normalParameters.allSatisfy { name, value in name == "q" || normalParameters[name] == value }
  }

  /// The parameters as they are compared: the first of each name, the charset in lower case.
  private var normalParameters: [String: String] {
    var normal: [String: String] = [:]
    for (name, value) in parameters where normal[name.canonicalName] == nil {
      normal[name.canonicalName] = name == "charset" ? ASCII.lowercased(value) : value
    }
    return normal
  }
}

extension MediaType: Hashable {
  /// Whether type, subtype and parameters are equal, as the type's description says.
  public static func == (left: Self, right: Self) -> Bool {
    left.type == right.type && left.subtype == right.subtype && left.normalParameters == right.normalParameters
  }

  /// Hashes type and subtype.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(subtype)
  }
}

extension MediaType: ExpressibleByStringLiteral, CustomStringConvertible {
  /// Makes a media type from a literal of the program. A literal that is none stops the program.
  public init(stringLiteral value: String) {
    guard let type = MediaType(value) else {
      preconditionFailure("'\(value)' is not a media type: write type/subtype, such as text/plain (RFC 9110 §8.3.1)")
    }
    self = type
  }

  /// The type as it is sent: names in lower case, values quoted where they must be.
  public var description: String { essence + parameters.description }
}

extension HTTPFields {
  /// The media type that `Content-Type` names; nil if there is none that can be read.
  ///
  /// Where a message names several, the last one counts, as in browsers (Fetch §2.2.2 “extract a MIME type”).
  public var mediaType: MediaType? {
    list(.contentType).lazy.reversed().compactMap { MediaType($0) }.first
  }
}
