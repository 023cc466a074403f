/// A media type (RFC 9110 §8.3.1), as in `Content-Type` and `Accept`.
///
/// ```swift
/// fields.mediaType?.matches("application/json")   // with any charset
/// let type: MediaType = "text/html; charset=utf-8"
/// type.charset   // "utf-8"
/// ```
///
/// Parsing follows browsers, formatting is strict. Two types are equal if their type, subtype and parameters are,
/// regardless of the order of parameters and of the case of names and of the charset.
public struct MediaType: Sendable {
  /// The type in lower case: `text`; `*` in a range.
  public let type: String
  /// The subtype in lower case: `html`; `*` in a range.
  public let subtype: String
  /// The parameters, such as `charset` and `boundary`.
  public var parameters: FieldParameters

  /// Parses a media type from outside the program, like browsers do (WHATWG MIME Sniffing §4.4).
  ///
  /// Lenient with parameters: invalid and repeated ones are omitted, a value may have characters that only a quoted
  /// string should have, and a quoted string may end with the text. Type and subtype must be tokens, without white
  /// space around the slash.
  ///
  /// - Parameter text: for example `text/html; charset=utf-8`.
  /// - Returns: nil if type or subtype is missing or not a token.
  public init?(_ text: some StringProtocol) {
    self.init(parsing: text, isFieldValue: false)
  }

  /// - Parameter isFieldValue: whether the text represents the bytes of a field's value. Each byte is then a code point
  ///   up to U+00FF, which values of parameters may contain; in other text those beyond it are not allowed.
  fileprivate init?(parsing text: some StringProtocol, isFieldValue: Bool) {
    var syntax = MediaTypeSyntax(text, isFieldValue: isFieldValue)
    guard let (type, subtype) = syntax.takeEssence() else { return nil }
    self.type = type
    self.subtype = subtype
    parameters = syntax.takeParameters()
  }

  /// The type without its parameters: `text/html`.
  public var essence: String { "\(type)/\(subtype)" }

  /// The `charset` parameter as it was written; nil if there is none. Charsets are case-insensitive.
  public var charset: String? { parameters["charset"] }

  /// The structured syntax suffix after the last plus sign of the subtype (RFC 6838 §4.2.8): `json` in
  /// `application/problem+json`.
  public var suffix: String? {
    guard let plus = subtype.utf8.lastIndex(of: UInt8(ascii: "+")) else { return nil }
    let suffix = subtype[subtype.utf8.index(after: plus)...]
    return suffix.isEmpty ? nil : String(suffix)
  }

  /// Whether the content is JSON: `application/json`, `text/json`, or a subtype with the suffix `+json`.
  public var isJSON: Bool { suffix == "json" || (subtype == "json" && (type == "application" || type == "text")) }

  /// Whether the type matches a media range (RFC 9110 §12.5.1): `*/*`, `image/*`, or a type.
  ///
  /// All parameters of the range must be present and equal, except its weight, `q`. Other parameters do not matter.
  public func matches(_ range: MediaType) -> Bool {
    guard range.type == "*" || range.type == type, range.subtype == "*" || range.subtype == subtype else {
      return false
    }
    return range.normalParameters.allSatisfy { name, value in name == "q" || normalParameters[name] == value }
  }

  /// The parameters in comparable form: the first of each name, the charset in lower case.
  private var normalParameters: [String: String] {
    var normal: [String: String] = [:]
    for (name, value) in parameters where normal[name.canonicalName] == nil {
      normal[name.canonicalName] = name == "charset" ? ASCII.lowercased(value) : value
    }
    return normal
  }
}

extension MediaType: Hashable {
  /// Whether type, subtype and parameters are equal.
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
  /// Makes a media type from a literal. A literal that is not a media type stops the program.
  public init(stringLiteral value: String) {
    guard let type = MediaType(value) else {
      preconditionFailure("'\(value)' is not a media type: write type/subtype, such as text/plain (RFC 9110 §8.3.1)")
    }
    self = type
  }

  /// The type as it is sent: names in lower case, values quoted where necessary.
  public var description: String { essence + parameters.description }
}

extension HTTPFields {
  /// The media type in `Content-Type`; nil if there is none that can be parsed.
  ///
  /// If there are several, the last one counts, and `*/*` counts as none, as in browsers (Fetch §2.2.2, “extract a MIME
  /// type”). If it has no `charset`, the previous one's applies if type and subtype are the same.
  public var mediaType: MediaType? {
    guard contains(.contentType) else { return nil }
    var last: MediaType?
    for value in FieldList.elements(of: self[values: .contentType].joined(separator: ", ")[...]) {
      guard var type = MediaType(parsing: value, isFieldValue: true), type.essence != "*/*" else { continue }
      if type.charset == nil, let last, last.essence == type.essence, let charset = last.charset {
        type.parameters["charset"] = charset
      }
      last = type
    }
    return last
  }
}

extension MediaType {
  /// `application/json` (RFC 8259).
  public static let json: MediaType = "application/json"
  /// `application/problem+json` (RFC 9457).
  public static let problemJSON: MediaType = "application/problem+json"
  /// `application/xml` (RFC 7303).
  public static let xml: MediaType = "application/xml"
  /// `application/x-www-form-urlencoded`: the pairs of a form (WHATWG URL §5).
  public static let form: MediaType = "application/x-www-form-urlencoded"
  /// `multipart/form-data` (RFC 7578); a message also needs its `boundary`.
  public static let multipartForm: MediaType = "multipart/form-data"
  /// `application/octet-stream`: arbitrary bytes.
  public static let octetStream: MediaType = "application/octet-stream"
  /// `application/pdf` (RFC 8118).
  public static let pdf: MediaType = "application/pdf"
  /// `text/plain` (RFC 2046 §4.1.3).
  public static let plainText: MediaType = "text/plain"
  /// `text/plain; charset=utf-8`.
  public static let plainTextUTF8: MediaType = "text/plain; charset=utf-8"
  /// `text/html`.
  public static let html: MediaType = "text/html"
  /// `text/css`.
  public static let css: MediaType = "text/css"
  /// `text/csv` (RFC 4180).
  public static let csv: MediaType = "text/csv"
  /// `text/event-stream`: server-sent events.
  public static let eventStream: MediaType = "text/event-stream"
  /// `image/jpeg`.
  public static let jpeg: MediaType = "image/jpeg"
  /// `image/png`.
  public static let png: MediaType = "image/png"
  /// `image/webp` (RFC 9649).
  public static let webP: MediaType = "image/webp"
  /// `image/gif`.
  public static let gif: MediaType = "image/gif"
  /// `image/svg+xml`.
  public static let svg: MediaType = "image/svg+xml"
  /// `image/*`: the range of all images.
  public static let anyImage: MediaType = "image/*"
  /// `*/*`: any media type.
  public static let any: MediaType = "*/*"
}

extension MediaType {
  /// Returns the type for the extension of a file name: `image/png` for `Photo.PNG`.
  ///
  /// Covers common types, and does not read the file. ``octetStream`` for unknown extensions.
  public static func ofFile(named name: String) -> MediaType {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return octetStream }
    let suffix = ASCII.lowercased(name[name.utf8.index(after: dot)...])
    return byExtension[suffix].flatMap { MediaType($0) } ?? octetStream
  }

  private static let byExtension = [
    "avif": "image/avif",
    "bmp": "image/bmp",
    "css": "text/css",
    "csv": "text/csv",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "gz": "application/gzip",
    "heic": "image/heic",
    "htm": "text/html",
    "html": "text/html",
    "ico": "image/x-icon",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "mjs": "text/javascript",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "txt": "text/plain",
    "wasm": "application/wasm",
    "wav": "audio/wav",
    "webm": "video/webm",
    "webp": "image/webp",
    "woff2": "font/woff2",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "zip": "application/zip",
    "zst": "application/zstd",
  ]
}
