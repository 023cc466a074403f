public import MartletSemantics
import Synchronization

/// A form with files: `multipart/form-data` (RFC 7578), as browsers send it.
///
/// ```swift
/// var form = MultipartForm()
/// form.append("Sunset", for: "title")
/// form.append(.file(photo), for: "photo")                     // with name and type from the file's name
/// form.append(try .json(place), for: "place")
/// let request = HTTPRequest(.post, url, body: .multipart(form))
/// ```
///
/// Names and file names are sent in UTF-8; `"`, CR and LF in them become `%22`, `%0D` and `%0A` (HTML standard,
/// §4.10.21.8). `filename*` is not used (RFC 7578 §4.2). Texts are sent unchanged, with their line ends.
public struct MultipartForm: Sendable {
  /// One field of the form.
  public struct Part: Sendable {
    /// The field's name; several parts may have the same name (RFC 7578 §4.3).
    public var name: String
    /// The name of the file; nil if the part is not a file. It is sent unchanged, folders included.
    public var fileName: String?
    /// The part's `Content-Type`; nil sends none, which means plain text (RFC 7578 §4.4).
    public var contentType: MediaType?
    /// The content. Its ``RequestBody/fields`` are not sent; ``contentType`` is.
    public var body: RequestBody

    /// Makes a part. Nothing is derived from the body.
    public init(name: String, fileName: String? = nil, contentType: MediaType? = nil, body: RequestBody) {
      self.name = name
      self.fileName = fileName
      self.contentType = contentType
      self.body = body
    }
  }

  /// The parts, in the order in which they are sent.
  public var parts: [Part]

  /// The boundary between the parts. nil, the default, for a random one that no part in memory contains.
  ///
  /// A boundary has 1 to 70 letters, digits, spaces and characters of `'()+_,-./:=?`, and no space at its end (RFC 2046
  /// §5.1.1). If it is another text, or a part in memory contains it, sending the form fails with
  /// ``HTTPError/Kind/invalidRequest``.
  public var boundary: String?

  /// Makes a form; an empty one by default.
  public init(_ parts: [Part] = []) { self.parts = parts }

  /// Appends a field of text.
  public mutating func append(_ text: String, for name: String) {
    parts.append(Part(name: name, body: .data(Data(text.utf8))))
  }

  /// Appends a field of any content: bytes, a file, a stream, JSON.
  ///
  /// - Parameters:
  ///   - body: the content. It cannot be ``RequestBody/compressed(_:)``: a part has no `Content-Encoding`.
  ///   - name: the field's name.
  ///   - fileName: the file's name for the server; by default the name of a file, and none for other bodies.
  ///   - contentType: the type; by default the body's own type, or else the type for the file name's extension
  ///     (`application/octet-stream` if the extension is unknown); none without a file name.
  public mutating func append(
    _ body: RequestBody, for name: String, fileName: String? = nil, contentType: MediaType? = nil
  ) {
    var fileName = fileName
    if case .file(let url) = body.storage { fileName = fileName ?? url.lastPathComponent }
    let type = contentType ?? body.fields.mediaType ?? fileName.map { MediaType.ofFile(named: $0) }
    parts.append(Part(name: name, fileName: fileName, contentType: type, body: body))
  }

  /// Returns the form's boundary, or a random one that no part in memory contains. Files and streams are not searched:
  /// for them, the 178 random bits make a collision improbable.
  func makeBoundary() -> String {
    if let boundary { return boundary }
    while true {
      let boundary = MultipartSyntax.boundary { UInt64.random(in: .min ... .max) }
      if isFree(boundary) { return boundary }
    }
  }

  private func isFree(_ boundary: String) -> Bool {
    parts.allSatisfy { MultipartSyntax.isFree(boundary, in: $0.body.bytes ?? Data()) }
  }

  /// The reason why the form cannot be sent with its own boundary.
  fileprivate var boundaryRefusal: HTTPError? {
    guard let boundary else { return nil }
    guard MultipartSyntax.isBoundary(boundary) else {
      return HTTPError(
        .invalidRequest,
        "'\(boundary)' is not a boundary: use 1 to 70 letters, digits and characters of '()+_,-./:=? (RFC 2046 §5.1.1)",
        phase: .preparing)
    }
    guard !isFree(boundary) else { return nil }
    return HTTPError(
      .invalidRequest, "a part of the form contains the boundary '\(boundary)': use another one, or none",
      phase: .preparing)
  }
}

/// The layout of a multipart body: the bytes between the parts, and the parts that are read while they are sent.
struct MultipartPlan: Sendable {
  enum Segment: Sendable {
    case bytes(Data)
    case body(RequestBody, name: String)
  }

  private(set) var segments: [Segment] = []
  /// The reason why the form cannot be sent.
  private var refusal: HTTPError?
  /// The maximum number of bytes of content in memory that are joined with the bytes around it.
  private static let joinLimit = 64 << 10

  init(_ form: MultipartForm, boundary: String) {
    refusal = form.boundaryRefusal
    for (index, part) in form.parts.enumerated() {
      refusal = refusal ?? Self.refusal(of: part)
      join(
        MultipartSyntax.head(
          name: part.name, fileName: part.fileName, contentType: part.contentType, boundary: boundary,
          isFirst: index == 0))
      if let bytes = part.body.bytes, bytes.count <= Self.joinLimit {
        join(bytes)
      } else {
        segments.append(.body(part.body, name: part.name))
      }
    }
    join(MultipartSyntax.end(boundary: boundary, isEmpty: form.parts.isEmpty))
  }

  /// The whole body, if it is small and in memory.
  var bytes: Data? {
    guard refusal == nil, segments.count == 1, case .bytes(let data) = segments[0] else { return nil }
    return data
  }

  /// The length, if it is known without opening files.
  var length: Int64? { sum(of: segments.map(\.length)) }

  /// The length according to the current sizes of files.
  var estimatedLength: Int64? {
    sum(
      of: segments.map { segment in
        if case .body(let body, _) = segment { body.estimatedLength } else { segment.length }
      })
  }

  /// Opens the body. Every file is checked, so that a missing file is an error before anything is sent.
  func open() async throws -> OpenBody {
    if let refusal { throw refusal }
    var lengths: [Int64?] = []
    for segment in segments {
      // Opened and closed again: a form of a thousand files must not use a thousand descriptors.
      if case .body(let body, _) = segment, case .file = body.storage {
        lengths.append(try await body.open().length)
      } else {
        lengths.append(segment.length)
      }
    }
    return OpenBody(source: MultipartSource(Array(zip(segments, lengths))), length: sum(of: lengths))
  }

  private mutating func join(_ data: Data) {
    guard case .bytes(var joined)? = segments.last else { return segments.append(.bytes(data)) }
    segments.removeLast()
    joined.append(data)
    segments.append(.bytes(joined))
  }

  private func sum(of lengths: [Int64?]) -> Int64? {
    lengths.reduce(0) { sum, length in sum.flatMap { sum in length.map { sum + $0 } } }
  }

  /// Returns the reason why a part cannot be sent: a type with a control character, trailers, or a content coding (RFC
  /// 7578 §4.8).
  private static func refusal(of part: MultipartForm.Part) -> HTTPError? {
    var fields = HTTPFields()
    fields[.contentType] = part.contentType?.description
    if let refusal = fields.refusal { return HTTPError(wrapping: refusal) }
    guard !part.body.hasTrailers else {
      return HTTPError(
        .invalidRequest, "the part '\(part.name)' of a multipart form has trailers, which only a whole body can have",
        phase: .preparing)
    }
    guard part.body.fields.contains(.contentEncoding) else { return nil }
    return HTTPError(
      .invalidRequest,
      "the part '\(part.name)' of a multipart form is compressed: a part has no Content-Encoding; compress the whole body, or none",
      phase: .preparing)
  }
}

extension MultipartPlan.Segment {
  fileprivate var length: Int64? {
    switch self {
    case .bytes(let data): Int64(data.count)
    case .body(let body, _): body.length
    }
  }
}

/// A source that reads the parts of a multipart body.
final class MultipartSource: BodySource {
  typealias Piece = (segment: MultipartPlan.Segment, length: Int64?)

  private struct State: Sendable {
    var rest: ArraySlice<Piece>
    var current: (any BodySource)?
  }

  private let state: Mutex<State>

  init(_ pieces: [Piece]) { state = Mutex(State(rest: pieces[...])) }

  func next() async throws -> Data? {
    while true {
      if let current = state.withLock({ $0.current }) {
        if let chunk = try await current.next() { return chunk }
        state.withLock { $0.current = nil }
      }
      switch state.withLock({ $0.rest.popFirst() }) {
      case nil: return nil
      case (.bytes(let data), _)?: return data
      case (.body(let body, let name), let length)?:
        let open = try await Self.open(body)
        // If the length is unknown, as for a form within the form, any length is right.
        guard length == nil || open.length == length else {
          throw HTTPError(
            .file, "the content of the part '\(name)' changed its length while the form was being sent", phase: .sending
          )
        }
        state.withLock { $0.current = open.source }
      }
    }
  }

  func cancel() { state.withLock { $0.current }?.cancel() }

  /// Opens a part. The request's head and the parts before may have been sent.
  private static func open(_ body: RequestBody) async throws -> OpenBody {
    do { return try await body.open() } catch let error as HTTPError { throw HTTPError(whileSending: error) }
  }
}
