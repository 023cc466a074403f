/// The reason why bytes could not be decoded to an image, or an image could not be encoded.
///
/// ```swift
/// do {
///   let bitmap = try ImageDecoder.decode(data)
/// } catch {                        // error is an ImageError
///   if error.kind == .notAnImage { print(error.message) }   // "this is an HTML page, …"
/// }
/// ```
///
/// Messages name the type of the content and never quote it, so that a login page or a token does not appear in logs.
public struct ImageError: Error, Sendable, Hashable {
  /// The kind of failure, for decisions in code.
  public var kind: Kind
  /// The problem and its remedy, as a sentence.
  public var message: String

  /// Makes an error.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

extension ImageError {
  /// The kinds of failure. More may be added: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind: that of its constant.
    public let name: String

    /// The name.
    public var description: String { name }

    /// The data is empty.
    public static let empty = Kind(name: "empty")
    /// The data is not an image; the message names its probable type: an HTML page, JSON, a PDF.
    public static let notAnImage = Kind(name: "notAnImage")
    /// The image has a format, or a rare variant of one, that is not supported.
    public static let unsupportedFormat = Kind(name: "unsupportedFormat")
    /// The file is incomplete, as after an interrupted download. No partial image is returned.
    public static let truncated = Kind(name: "truncated")
    /// The file contradicts its format.
    public static let damaged = Kind(name: "damaged")
    /// The image exceeds ``ImageDecoder/Limits``, or the available memory.
    public static let tooLarge = Kind(name: "tooLarge")
    /// The image cannot be encoded in the format: it has no pixels, or too many.
    public static let notEncodable = Kind(name: "notEncodable")
  }
}

extension ImageError: CustomStringConvertible, LocalizedError {
  /// The kind and the message.
  public var description: String { "\(kind.name): \(message)" }

  /// The message.
  public var errorDescription: String? { message }
}
