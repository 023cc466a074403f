public import MartletSemantics

/// The body of a request.
///
/// | body | length | can be sent again |
/// |---|---|---|
/// | ``empty``, ``data(_:)`` | known | yes |
/// | ``file(_:)`` | the file's, read when it is sent | yes |
/// | ``stream(length:_:)`` | as given | yes: the closure is asked for a fresh stream |
/// | ``singleUse(length:_:)`` | as given | no |
///
/// A body that can be sent again survives redirects that keep the method, retries and challenges.
public struct RequestBody: Sendable {
  package enum Storage: Sendable {
    case data(Data)
    case file(URL)
    case stream(@Sendable () async throws -> any BodySource)
    case singleUse(SingleUse)
  }

  package let storage: Storage
  /// The number of bytes where it is known beforehand; a body without goes out chunked over HTTP/1.1.
  ///
  /// A stream that yields more or fewer bytes than its length is an error of kind ``HTTPError/Kind/invalidRequest``.
  public let length: Int64?
  /// Sees the bytes of a body that is read while it is sent.
  var tap: (@Sendable (Data) -> Void)?

  package init(_ storage: Storage, length: Int64?) {
    self.storage = storage
    self.length = length
  }

  /// No body.
  public static let empty = RequestBody(.data(Data()), length: 0)

  /// A body of bytes.
  public static func data(_ data: Data) -> RequestBody { RequestBody(.data(data), length: Int64(data.count)) }

  /// A body read from a file while it is sent. A file that cannot be read is an error of kind
  /// ``HTTPError/Kind/file`` when the request is executed.
  public static func file(_ url: URL) -> RequestBody { RequestBody(.file(url), length: nil) }

  /// A body from a stream that can be made anew: the closure is called once an attempt.
  public static func stream<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, _ make: @escaping @Sendable () async throws -> Chunks
  ) -> RequestBody where Chunks.Element == Data {
    RequestBody(.stream { SequenceSource(try await make()) }, length: length)
  }

  /// A body from a stream that is there only once. An exchange that would have to send it twice fails with
  /// ``HTTPError/Kind/bodyNotReplayable``.
  public static func singleUse<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, _ chunks: Chunks
  ) -> RequestBody where Chunks.Element == Data {
    RequestBody(.singleUse(SingleUse(SequenceSource(chunks))), length: length)
  }

  /// Whether an exchange can send the body more than once.
  public var isReplayable: Bool {
    if case .singleUse = storage { false } else { true }
  }

  /// Whether there is nothing to send.
  public var isEmpty: Bool { length == 0 }

  /// The bytes, where they are all in memory: a transport may hand them over without a stream.
  public var bytes: Data? {
    if case .data(let data) = storage { data } else { nil }
  }

  /// Opens the body for one attempt.
  ///
  /// - Throws: ``HTTPError`` of kind `.file` or `.bodyNotReplayable`, or what the stream's maker throws.
  public func open() async throws -> OpenBody {
    let body = try await openStorage()
    guard let tap else { return body }
    return OpenBody(source: TappedSource(base: body.source, tap: tap), length: body.length)
  }

  private func openStorage() async throws -> OpenBody {
    switch storage {
    case .data(let data): OpenBody(source: DataSource(data), length: length)
    case .file(let url):
      try { () throws(HTTPError) in
        let file = try FileSource(opening: url)
        return OpenBody(source: file, length: file.length)
      }()
    case .stream(let make): OpenBody(source: CountedSource(try await make(), promised: length), length: length)
    case .singleUse(let once): OpenBody(source: CountedSource(try once.take(), promised: length), length: length)
    }
  }
}

extension RequestBody: CustomStringConvertible {
  /// What kind of body it is and how long, never what it says.
  public var description: String {
    switch storage {
    case .data(let data): data.isEmpty ? "no body" : "a body of \(data.count) bytes"
    case .file(let url): "the file '\(url.path)' as body"
    case .stream, .singleUse: length.map { "a stream of \($0) bytes as body" } ?? "a stream as body"
    }
  }
}

/// A request's body opened for one attempt: its bytes, and how many there will be.
public struct OpenBody: Sendable {
  /// Where the bytes come from.
  public let source: any BodySource
  /// How many there are, nil where that is not known.
  public let length: Int64?
}
