public import MartletSemantics

/// A form with files, as browsers send it: `multipart/form-data` (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.append("Sunset", for: "title")
/// form.append(.file(photo), for: "photo")                     // name and type come from the file's name
/// form.append(try .json(place), for: "place")
/// let request = HTTPRequest(.post, url, body: .multipart(form))
/// ```
///
/// Names and file names go out as UTF-8; `"`, CR and LF in them become `%22`, `%0D` and `%0A`, as the HTML standard says
/// (§4.10.21.8). There is no `filename*` (RFC 7578 §4.2). Texts are sent as they are, line ends included.
public struct MultipartForm: Sendable {
  /// One field of the form.
  public struct Part: Sendable {
    /// The field's name; several parts may have the same (RFC 7578 §4.3).
    public var name: String
    /// The name of the file, nil for what is no file. It is sent as it is: no folders are taken off.
    public var fileName: String?
    /// The part's `Content-Type`; nil sends none, which means plain text (RFC 7578 §4.4).
    public var contentType: MediaType?
    /// The content. Of the fields that describe it, only the type is sent, and only where it is ``contentType``.
    public var body: RequestBody

    /// Makes a part as it is, without deriving anything from the body.
    public init(name: String, fileName: String? = nil, contentType: MediaType? = nil, body: RequestBody) {
      self.name = name
      self.fileName = fileName
      self.contentType = contentType
      self.body = body
    }
  }

  /// The parts, in the order in which they are sent.
  public var parts: [Part]

  /// Makes a form of these parts; of none by default.
  public init(_ parts: [Part] = []) { self.parts = parts }

  /// Adds a field of text.
  public mutating func append(_ text: String, for name: String) {
    parts.append(Part(name: name, body: .data(Data(text.utf8))))
  }

  /// Adds content of any kind: bytes, a file, a stream, JSON.
  ///
  /// - Parameters:
  ///   - body: the content. It cannot be ``RequestBody/compressed(_:)``: a part has no `Content-Encoding`.
  ///   - name: the field's name.
  ///   - fileName: what the server sees as the file's name; by default that of the file, and none for anything else.
  ///   - contentType: the type; by default the body's own, for a file the one that its name's extension stands for,
  ///     `application/octet-stream` for anything else that has a file name, and none for the rest.
  public mutating func append(
    _ body: RequestBody, for name: String, fileName: String? = nil, contentType: MediaType? = nil
  ) {
    var fileName = fileName
    if case .file(let url) = body.storage { fileName = fileName ?? url.lastPathComponent }
    let type = contentType ?? body.fields.mediaType ?? fileName.map { MediaType.ofFile(named: $0) }
    parts.append(Part(name: name, fileName: fileName, contentType: type, body: body))
  }

  /// A boundary at random that none of the parts in memory contains. Nobody can look into files and streams beforehand; for
  /// them 178 random bits have to do.
  func makeBoundary() -> String {
    while true {
      let boundary = MultipartSyntax.boundary { UInt64.random(in: .min ... .max) }
      if parts.allSatisfy({ MultipartSyntax.isFree(boundary, in: $0.body.bytes ?? Data()) }) { return boundary }
    }
  }
}
