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
  /// The kinds of failure.
  @nonexhaustive public enum Kind: String, Sendable, Hashable, CustomStringConvertible {
    /// The data is empty.
    case empty
    /// The data is not an image; the message names its probable type: an HTML page, JSON, a PDF.
    case notAnImage
    /// The image has a format, or a rare variant of one, that is not supported.
    case unsupportedFormat
    /// The file is incomplete, as after an interrupted download. A partial image is returned only with
    /// ``ImageDecoder/Options/isTolerant``.
    case truncated
    /// The file contradicts its format.
    case damaged
    /// The image exceeds ``ImageDecoder/Limits``, or the available memory.
    case tooLarge
    /// The task was cancelled while the image was decoded.
    case cancelled
    /// The image cannot be encoded in the format: it has no pixels, or too many.
    case notEncodable

    /// The name of the case.
    public var name: String { rawValue }
    /// The name.
    public var description: String { name }
  }
}

extension ImageError: CustomStringConvertible, LocalizedError {
  /// The kind and the message.
  public var description: String { "\(kind.name): \(message)" }

  /// The message.
  public var errorDescription: String? { message }
}
