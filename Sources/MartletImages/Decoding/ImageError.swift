/// Why bytes did not become a picture, or a picture no bytes.
///
/// ```swift
/// do {
///   let bitmap = try ImageDecoder.decode(data)
/// } catch {                        // error is an ImageError
///   if error.kind == .notAnImage { print(error.message) }   // "this is an HTML page, …"
/// }
/// ```
///
/// Messages say what the bytes look like, never what they say: a login page or a token is not repeated.
public struct ImageError: Error, Sendable, Hashable {
  /// What kind of failure this is: what a program decides by.
  public var kind: Kind
  /// What is wrong and what to do about it, in a sentence for people.
  public var message: String

  /// Makes an error.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

extension ImageError {
  /// The kinds of failure. New ones may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name, as it is written here.
    public let name: String

    /// The name.
    public var description: String { name }

    /// There is not a single byte.
    public static let empty = Kind(name: "empty")
    /// The bytes are something else, and the message says what they look like: an HTML page, JSON, a PDF.
    public static let notAnImage = Kind(name: "notAnImage")
    /// The bytes are a picture of a format, or of a rare variant, that is not decoded here.
    public static let unsupportedFormat = Kind(name: "unsupportedFormat")
    /// The file ends too early: a download that broke off. No part of the picture is returned.
    public static let truncated = Kind(name: "truncated")
    /// The file contradicts its format.
    public static let damaged = Kind(name: "damaged")
    /// The picture exceeds ``ImageDecoder/Limits``, or memory.
    public static let tooLarge = Kind(name: "tooLarge")
    /// The picture cannot be written in the format: it has no pixels, or too many.
    public static let notEncodable = Kind(name: "notEncodable")
  }
}

extension ImageError: CustomStringConvertible, LocalizedError {
  /// The kind and the message.
  public var description: String { "\(kind.name): \(message)" }

  /// The message.
  public var errorDescription: String? { message }
}
