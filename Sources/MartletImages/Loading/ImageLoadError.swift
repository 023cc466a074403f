public import MartletEngine
public import MartletSemantics

/// Why there is no picture.
///
/// ```swift
/// do { show(try await loader.image(for: url)) } catch {     // error is an ImageLoadError
///   switch error.kind {
///   case .notAnImage: report("is somebody logged out? \(error.message)")
///   case .status: report(error.serverText ?? error.message)
///   default: report(error.message)
///   }
/// }
/// ```
///
/// Messages and descriptions say what came, never what it says: that is in ``body``, ``serverText`` and ``excerpt``.
public struct ImageLoadError: Error, Sendable {
  /// What kind of failure this is: what a program decides by.
  public var kind: Kind
  /// What happened, in a sentence for people.
  public var message: String
  /// The URL that was asked for.
  public var url: URL?
  /// The response's head, where there was one.
  public var response: ResponseHead?
  /// The beginning of the response's body, at most 64 KiB, where it was no picture.
  public var body: Data?
  /// What lay beneath: an `HTTPError`, an ``ImageError``, the error of a processor.
  public var underlying: (any Error)?
  /// Whether nothing was sent, because the same load had failed shortly before.
  public var isRemembered = false

  init(_ kind: Kind, _ message: String, underlying: (any Error)? = nil) {
    self.kind = kind
    self.message = message
    self.underlying = underlying
  }

  /// The error of the network, where it was one.
  public var httpError: HTTPError? { underlying as? HTTPError }

  /// What the server said, where that is text: for people who may see it, not for a log.
  public var serverText: String? {
    guard let body, !body.isEmpty, !body.contains(0) else { return nil }
    return String(decoding: body, as: UTF8.self)
  }

  /// The first 80 characters of what came in place of a picture, in one line without control characters.
  public var excerpt: String? {
    serverText.map { text in
      let visible = text.prefix(400).unicodeScalars.map {
        $0.properties.generalCategory == .control || $0.properties.generalCategory == .format ? " " : Character($0)
      }
      return String(String(visible).split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(80))
    }
  }
}

extension ImageLoadError {
  /// The kinds of failure. New ones may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name, as it is written here.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The exchange failed: see ``ImageLoadError/httpError``.
    public static let network = Kind(name: "network")
    /// The status is no 2xx; what the server says of it is in ``ImageLoadError/serverText``.
    public static let status = Kind(name: "status")
    /// Something else came than a picture, most likely a login page.
    public static let notAnImage = Kind(name: "notAnImage")
    /// Not a byte came.
    public static let empty = Kind(name: "empty")
    /// The file has more bytes than ``ImageLoader/Configuration/maximumEncodedBytes``, or the picture more pixels than
    /// ``ImageLoader/Configuration/decoding`` allows. It was not taken into memory.
    public static let tooLarge = Kind(name: "tooLarge")
    /// The picture is damaged, cut off, or of a format that is not decoded here.
    public static let undecodable = Kind(name: "undecodable")
    /// A processor threw.
    public static let processing = Kind(name: "processing")
    /// The caller's task was cancelled, or all pictures of its partition were removed.
    public static let cancelled = Kind(name: "cancelled")
  }
}

extension ImageLoadError: CustomStringConvertible, CustomReflectable, LocalizedError {
  /// The kind, the message, and the URL without what may be secret in it.
  public var description: String { "\(kind.name): \(message)" + (url.map { " (\($0.redacted))" } ?? "") }
  /// The message.
  public var errorDescription: String? { message }
  /// The description and what lay beneath, so that `dump` shows neither the URL's secrets nor what the server said.
  public var customMirror: Mirror {
    Mirror(self, children: ["error": description, "response": response as Any, "underlying": underlying as Any])
  }
}

extension ImageLoadError {
  /// Makes any error one of ours.
  init(wrapping error: any Error) {
    switch error {
    case let error as ImageLoadError: self = error
    case let error as ImageError: self.init(Kind(of: error), error.message, underlying: error)
    case let error as HTTPError:
      let kind: Kind = error.isCancelled ? .cancelled : error.kind == .bodyTooLarge ? .tooLarge : .network
      self.init(kind, error.message, underlying: error)
      response = error.response
    case is CancellationError: self.init(.cancelled, "the load was cancelled")
    default: self.init(.network, String(describing: error), underlying: error)
    }
  }

  /// Adds where it happened, as far as that is not known already.
  func placed(at url: URL, _ response: ResponseHead? = nil, _ body: Data? = nil) -> ImageLoadError {
    var error = self
    error.url = error.url ?? url
    error.response = error.response ?? response
    error.body = error.body ?? body?.prefix(64 << 10)
    return error
  }
}

extension ImageLoadError {
  /// Whether the file is at fault, and not what was to be made of it.
  var isFiles: Bool { [.notAnImage, .undecodable, .empty].contains(kind) }

  /// Adds what the server says that the file is, and from where it came, if not from where it was asked for.
  func described(by head: ResponseHead, at url: URL, asked: URL) -> ImageLoadError {
    guard isFiles else { return self }
    var error = self
    if let type = head.fields.mediaType { error.message += "; the server calls it \(type.essence)" }
    if url != asked { error.message += "; it came from \(url.redacted)" }
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
      default: .undecodable
      }
  }
}
