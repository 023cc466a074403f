public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// The reason why an image could not be loaded.
///
/// ```swift
/// do { show(try await loader.image(for: url)) } catch {     // error is an ImageLoadError
///   switch error.kind {
///   case .notAnImage: report("is the user logged out? \(error.message)")
///   case .status: report(error.serverText ?? error.message)
///   default: report(error.message)
///   }
/// }
/// ```
///
/// Messages and descriptions never contain the server's text: that is in ``body``, ``serverText`` and ``excerpt``.
public struct ImageLoadError: Error, Sendable {
  /// The kind of failure, for decisions in code.
  public var kind: Kind
  /// What happened, in a sentence for users.
  public var message: String
  /// The URL of the request; nil for a `data:` URL, which contains the image.
  public var url: URL?
  /// The response's head; nil if there was no response.
  public var response: ResponseHead?
  /// The beginning of the response's body, at most 64 KiB, if it was not an image.
  public var body: Data?
  /// The underlying error: an `HTTPError`, an ``ImageError``, or the error of a processor.
  public var underlying: (any Error)?
  /// Whether this is the error of an earlier load: no request was sent, because that load had failed recently.
  public var isRemembered = false

  /// The maximum number of bytes of ``body``.
  static let bodyLimit = 64 << 10

  init(_ kind: Kind, _ message: String, underlying: (any Error)? = nil) {
    self.kind = kind
    self.message = message
    self.underlying = underlying
  }

  /// The underlying error of the call; nil if it was another error.
  public var httpError: HTTPError? { underlying as? HTTPError }

  /// The beginning of the response's body as text; nil if it is not text. It is for users who may see it, not for logs.
  public var serverText: String? {
    guard let body, !body.isEmpty, !body.contains(0) else { return nil }
    return String(decoding: body, as: UTF8.self)
  }

  /// The first 80 characters of ``serverText``, in one line without control characters.
  public var excerpt: String? {
    serverText.map { text in
      let words = String(text.prefix(400)).printable.split(whereSeparator: \.isWhitespace)
      return String(words.joined(separator: " ").prefix(80))
    }
  }
}

extension ImageLoadError {
  /// The kinds of failure.
  @nonexhaustive public enum Kind: String, Sendable, Hashable, CustomStringConvertible {
    /// The call failed; see ``ImageLoadError/httpError``.
    case network
    /// The status is not a 2xx; the server's text is in ``ImageLoadError/serverText``.
    case status
    /// The body is not an image; often it is a login page.
    case notAnImage
    /// The body is empty.
    case empty
    /// The file has more bytes than ``ImageLoader/Configuration/encodedBytesLimit``, or the image more pixels than
    /// ``ImageLoader/Configuration/decoding`` allows. It was not read into memory.
    case tooLarge
    /// The file of a `file:` URL cannot be read, or a `data:` URL is malformed.
    case unreadable
    /// The image is damaged, incomplete, or of a format that is not supported.
    case undecodable
    /// Decoding and processing took longer than ``ImageLoader/Configuration/decodeTimeout``.
    case timedOut
    /// A processor threw an error.
    case processing
    /// The caller's task was cancelled, or all images of its partition were removed.
    case cancelled

    /// The name of the case.
    public var name: String { rawValue }
    /// The name.
    public var description: String { name }
  }
}

extension ImageLoadError: CustomStringConvertible, CustomReflectable, LocalizedError {
  /// The kind, the message, and the URL without secrets.
  public var description: String { "\(kind.name): \(message)" + (url.map { " (\($0.redacted))" } ?? "") }
  /// The message.
  public var errorDescription: String? { message }
  /// The description, the response's head and the underlying error, so that `dump` shows neither secrets of the URL nor
  /// the body.
  public var customMirror: Mirror {
    Mirror(self, children: ["error": description, "response": response as Any, "underlying": underlying as Any])
  }
}

extension ImageLoadError {
  /// Makes a load error from any error.
  init(wrapping error: any Error) {
    switch error {
    case let error as ImageLoadError: self = error
    case let error as ImageError: self.init(Kind(of: error), error.message, underlying: error)
    case let error as HTTPError where error.kind == .unexpectedResponse:
      let status = error.response.map(\.statusText) ?? "an unexpected status"
      self.init(.status, "the server answered \(status)")
      (response, body) = (error.response, error.body)
    case let error as HTTPError:
      let kind: Kind = error.isCancelled ? .cancelled : error.kind == .bodyTooLarge ? .tooLarge : .network
      self.init(kind, error.message, underlying: error)
      response = error.response
    case is CancellationError: self.init(.cancelled, "the load was cancelled")
    default: self.init(.network, String(describing: error), underlying: error)
    }
  }

  /// Returns the error with URL, response and body, unless it already has them.
  func addingContext(_ url: URL, _ response: ResponseHead? = nil, _ body: Data? = nil) -> ImageLoadError {
    var error = self
    error.url = error.url ?? LocalImage(url).map(\.reportedURL) ?? url
    error.response = error.response ?? response
    error.body = error.body ?? body?.prefix(ImageLoadError.bodyLimit)
    return error
  }
}

extension ImageLoadError {
  /// Whether the file caused the error, and not the rendition.
  var isCausedByFile: Bool { [.notAnImage, .undecodable, .empty].contains(kind) }

  /// Returns the error with the file's media type, and its URL if that is not the request's, in the message.
  func addingFile(_ head: ResponseHead?, at url: URL?, requested: URL) -> ImageLoadError {
    guard isCausedByFile else { return self }
    var error = self
    if let type = head?.fields.mediaType { error.message += "; the server calls it \(type.essence)" }
    if let url, url != requested { error.message += "; it came from \(url.redacted)" }
    return error
  }
}

extension ImageLoadError.Kind {
  fileprivate init(of error: ImageError) {
    self =
      switch error.kind {
      case .empty: .empty
      case .notAnImage: .notAnImage
      case .tooLarge: .tooLarge
      case .cancelled: .cancelled
      default: .undecodable
      }
  }
}
