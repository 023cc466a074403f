public import MartletSemantics

/// The body of a request, and the fields that describe it.
///
/// | body | length | can be sent again |
/// |---|---|---|
/// | ``empty``, ``data(_:)``, ``json(_:encoder:)``, ``form(_:)`` | known | yes |
/// | ``file(_:)`` | the file's, read when it is sent | yes |
/// | ``stream(length:trailers:_:)`` | as given | yes: the closures are called again |
/// | ``singleUse(length:_:)`` | as given | no |
/// | ``multipart(_:)`` | known if that of every part is | if every part can |
/// | ``compressed(_:)`` | known if the body is small | if the body can |
///
/// A body that can be sent again is sent again in redirects that keep the method, in retries, and after challenges. The
/// request is sent with the body's ``fields``, except fields that the request sets itself.
public struct RequestBody: Sendable {
  package enum Storage: Sendable {
    case data(Data)
    case file(URL)
    case made(@Sendable () async throws -> OpenBody)
  }

  package let storage: Storage
  /// The number of bytes; nil if it is not known before the body is sent, which is then chunked in HTTP/1.1.
  ///
  /// A stream with more or fewer bytes than its length is an error of kind ``HTTPError/Kind/invalidRequest``. A stream
  /// of length 0 is read to its end before its request is sent.
  public let length: Int64?
  /// The fields that describe the body: `Content-Type`, `Content-Encoding`. Each is sent unless the request has a field
  /// of that name. Empty for bytes, files and streams.
  public var fields: HTTPFields = [:]
  /// Whether trailer fields follow the body; see ``stream(length:trailers:_:)``.
  ///
  /// A transport takes them from the opened body's ``BodySource/trailers``, and refuses the request if it cannot send
  /// any.
  public let hasTrailers: Bool
  /// The single-use streams that the body reads.
  let singleUses: [SingleUse]
  /// Returns the approximate size of a body whose length is only known when it is opened; nil if that is not known
  /// either.
  private let estimate: (@Sendable () -> Int64?)?

  package init(_ storage: Storage, length: Int64?) { self.init(storage, length: length, singleUses: []) }

  init(
    _ storage: Storage, length: Int64?, fields: HTTPFields = [:], hasTrailers: Bool = false, singleUses: [SingleUse],
    estimate: (@Sendable () -> Int64?)? = nil
  ) {
    self.estimate = estimate
    self.hasTrailers = hasTrailers
    self.storage = storage
    self.length = length
    self.fields = fields
    self.singleUses = singleUses
  }

  /// An empty body.
  public static let empty = RequestBody(.data(Data()), length: 0)

  /// Returns a body of bytes.
  public static func data(_ data: Data) -> RequestBody { RequestBody(.data(data), length: Int64(data.count)) }

  /// Returns a body that is read from a file while it is sent. If the file cannot be read, sending the request fails
  /// with an error of kind ``HTTPError/Kind/file``.
  ///
  /// A file that has content although its size is 0, such as a file of `/proc`, is sent with the length that it has
  /// when it is opened, or chunked if it is longer than 128 KiB. A file that grows while it is sent is sent up to its
  /// first size; one whose size is too small although it does not grow is an error. Only regular files are read: use
  /// ``singleUse(length:_:)`` for pipes and devices.
  public static func file(_ url: URL) -> RequestBody { RequestBody(.file(url), length: nil) }

  /// Returns a body that is read from a stream, with the trailer fields that follow it.
  ///
  /// ```swift
  /// let request = HTTPRequest(
  ///   .put, url, fields: [.trailer: "X-Ended"],
  ///   body: .stream(trailers: { ["X-Ended": "\(Date.now)"] }) {
  ///     AsyncStream<Data> { stream in
  ///       for chunk in chunks { stream.yield(chunk) }
  ///       stream.finish()
  ///     }
  ///   })
  /// ```
  ///
  /// Over HTTP/1.1, a body with trailers is chunked (RFC 9112 §7.1.2); a length is then checked, but not sent. The
  /// caller may set a `Trailer` field that announces them (RFC 9110 §6.6.2). Only `SocketTransport` sends trailers;
  /// over any other transport the request fails with ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Parameters:
  ///   - length: the number of bytes; nil, the default, if it is not known.
  ///   - trailers: returns the trailer fields (RFC 9110 §6.5); called for each attempt, after all bytes of its stream
  ///     were read. nil, the default, for none. Fields that are not allowed there, such as `Content-Length`, are an
  ///     error of kind ``HTTPError/Kind/invalidRequest`` (§6.5.1).
  ///   - make: makes the stream; called for each attempt.
  public static func stream<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, trailers: (@Sendable () async throws -> HTTPFields)? = nil,
    _ make: @escaping @Sendable () async throws -> Chunks
  ) -> RequestBody where Chunks.Element == Data {
    let open: @Sendable () async throws -> OpenBody = {
      let source = SequenceSource(try await make()).checked(length)
      return OpenBody(source: trailers.map { TrailedSource(source, $0) } ?? source, length: length)
    }
    return RequestBody(.made(open), length: length, hasTrailers: trailers != nil, singleUses: [])
  }

  /// Returns a body that is read from a stream that can be read only once. If the request has to be sent a second time,
  /// it fails with ``HTTPError/Kind/bodyNotReplayable``; an attempt that failed before it read the stream does not
  /// count.
  public static func singleUse<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, _ chunks: Chunks
  ) -> RequestBody where Chunks.Element == Data {
    let once = SingleUse(SequenceSource(chunks))
    let open: @Sendable () async throws -> OpenBody = {
      OpenBody(source: SingleUseReader(of: once, isEmpty: length == 0).checked(length), length: length)
    }
    return RequestBody(.made(open), length: length, singleUses: [once])
  }

  /// The length, or an approximate upper limit from the current sizes of files; nil if that is not known.
  var estimatedLength: Int64? {
    if case .file(let url) = storage { return FileSource.length(at: url) }
    return length ?? estimate?()
  }

  /// Whether the body can always be sent again: it contains no single-use stream.
  public var isReplayable: Bool { singleUses.isEmpty }

  /// Whether the body can be sent now: a single-use stream can be sent until it has been read.
  ///
  /// Check this, not ``isReplayable``, before you send a request again: if the server could not be reached, or refused
  /// the request before its body was sent, a single-use stream has not been read.
  public var canBeSent: Bool { singleUses.allSatisfy { !$0.isTaken } }

  /// Whether the length is 0, and no trailers follow.
  public var isEmpty: Bool { length == 0 && !hasTrailers }

  /// The bytes, if all of them are in memory; a transport can send them without a stream.
  public var bytes: Data? {
    if case .data(let data) = storage { data } else { nil }
  }

  /// The file of a body made with ``file(_:)``; nil for any other body.
  ///
  /// It tells an interceptor or a listener where the bytes come from. The file is read again each time the request is
  /// sent, so its content may have changed.
  public var file: URL? {
    if case .file(let url) = storage { url } else { nil }
  }

  /// Whether the transport has to open the body: a stream of length 0 is read to its end too.
  package var needsOpening: Bool {
    if !isEmpty { return true }
    if case .data = storage { return false }
    return true
  }

  /// Opens the body for an attempt; nil if it has no bytes. A stream of length 0 may still yield some: it is read
  /// before the request is sent, because the server may respond at once.
  @_spi(Toolkit) public func openUnlessEmpty() async throws -> OpenBody? {
    guard needsOpening else { return nil }
    let body = try await open()
    guard isEmpty else { return body }
    _ = try await body.source.next()
    return nil
  }

  /// Opens the body for an attempt. Runs off the caller's actor.
  ///
  /// - Throws: ``HTTPError`` of kind `.file` or `.bodyNotReplayable`, or the error of the closure that makes the
  ///   stream.
  @concurrent public func open() async throws -> OpenBody {
    guard canBeSent else { throw HTTPError.bodyNotReplayable }
    switch storage {
    case .data(let data): return OpenBody(source: DataSource(data), length: length)
    case .file(let url):
      let file = try FileSource(opening: url)
      return OpenBody(source: file, length: file.length)
    case .made(let open): return try await open()
    }
  }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
  /// The kind and length of the body, never its content.
  public var description: String {
    switch storage {
    case .data(let data): data.isEmpty ? "no body" : "a body of \(data.count) bytes"
    case .file(let url): "the file '\(url.path)' as body"
    case .made:
      (length.map { "a stream of \($0) bytes as body" } ?? "a stream as body") + (hasTrailers ? " with trailers" : "")
    }
  }

  /// The description alone, so that `dump` shows no content.
  public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension RequestBody {
  /// Returns a form with files (RFC 7578), with its `Content-Type` and boundary; see ``MultipartForm``.
  ///
  /// Files and streams are read while they are sent, and again for each attempt. The length is known if the length of
  /// every part is known.
  public static func multipart(_ form: MultipartForm) -> RequestBody {
    let boundary = form.makeBoundary()
    let plan = MultipartPlan(form, boundary: boundary)
    var type = MediaType.multipartForm
    type.parameters["boundary"] = boundary
    let fields: HTTPFields = [.contentType: type.description]
    if let data = plan.bytes {
      return RequestBody(.data(data), length: Int64(data.count), fields: fields, singleUses: [])
    }
    return RequestBody(
      .made { try await plan.open() }, length: plan.length, fields: fields,
      singleUses: form.parts.flatMap(\.body.singleUses), estimate: { plan.estimatedLength })
  }
}

extension RequestBody {
  /// Returns text as `text/plain; charset=utf-8`.
  public static func text(_ text: String) -> RequestBody {
    var body = RequestBody.data(Data(text.utf8))
    body.fields[.contentType] = MediaType.plainTextUTF8.description
    return body
  }

  /// Returns a value encoded as JSON (RFC 8259), with `Content-Type: application/json`.
  ///
  /// ```swift
  /// let request = HTTPRequest(.post, url, body: try .json(order))
  /// ```
  ///
  /// - Parameters:
  ///   - value: the value; it is encoded at once.
  ///   - encoder: encodes it; with Foundation's defaults by default.
  /// - Throws: ``HTTPError`` of kind `.invalidRequest` with the place in the value, and the encoder's error in
  ///   ``HTTPError/underlying``.
  public static func json(
    _ value: some Encodable, encoder: JSONEncoder = JSONEncoder()
  ) throws(HTTPError) -> RequestBody {
    do {
      var body = RequestBody.data(try encoder.encode(value))
      body.fields[.contentType] = MediaType.json.description
      return body
    } catch {
      throw HTTPError(
        .invalidRequest, "the \(type(of: value)) cannot be encoded as JSON\(CodingFailure(error: error).place)",
        phase: .preparing,
        underlying: error)
    }
  }
}

/// The body of a request, opened for an attempt.
public struct OpenBody: Sendable {
  /// The source of the bytes.
  public let source: any BodySource
  /// The number of bytes; nil if it is not known.
  public let length: Int64?

  package init(source: any BodySource, length: Int64?) {
    self.source = source
    self.length = length
  }
}

extension HTTPError {
  /// The error of a transport that cannot send trailers.
  package static func trailersUnsupported(by transport: String) -> HTTPError {
    HTTPError(
      .invalidRequest, "\(transport) cannot send the trailers of a request's body: use SocketTransport",
      phase: .preparing)
  }
}
