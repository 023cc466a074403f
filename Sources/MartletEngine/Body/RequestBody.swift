public import MartletSemantics

/// The body of a request, and the fields that describe it.
///
/// | body | length | can be sent again |
/// |---|---|---|
/// | ``empty``, ``data(_:)``, ``json(_:encoder:)``, ``form(_:)`` | known | yes |
/// | ``file(_:)`` | the file's, read when it is sent | yes |
/// | ``stream(length:_:)`` | as given | yes: the closure is asked for a fresh stream |
/// | ``singleUse(length:_:)`` | as given | no |
/// | ``multipart(_:)`` | known if that of every part is | if every part can |
/// | ``compressed(_:)`` | known if the body is small | if the body can |
///
/// A body that can be sent again survives redirects that keep the method, retries and challenges. What describes a body
/// travels with it: a request that does not say otherwise is sent with the body's ``fields``.
public struct RequestBody: Sendable {
  package enum Storage: Sendable {
    case data(Data)
    case file(URL)
    case made(@Sendable () async throws -> OpenBody)
  }

  package let storage: Storage
  /// The number of bytes where it is known beforehand; a body without goes out chunked over HTTP/1.1.
  ///
  /// A stream that yields more or fewer bytes than its length is an error of kind ``HTTPError/Kind/invalidRequest``.
  public let length: Int64?
  /// The fields that describe the body: `Content-Type`, `Content-Encoding`. Each is sent unless the request has a field of
  /// that name already. Empty for bytes, files and streams, of which nothing is known.
  public var fields: HTTPFields = [:]
  /// The streams in it that are there only once.
  let singleUses: [SingleUse]

  package init(_ storage: Storage, length: Int64?) { self.init(storage, length: length, singleUses: []) }

  init(_ storage: Storage, length: Int64?, fields: HTTPFields = [:], singleUses: [SingleUse]) {
    self.storage = storage
    self.length = length
    self.fields = fields
    self.singleUses = singleUses
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
    let open: @Sendable () async throws -> OpenBody = {
      OpenBody(source: CountedSource(SequenceSource(try await make()), promised: length), length: length)
    }
    return RequestBody(.made(open), length: length)
  }

  /// A body from a stream that is there only once. An exchange that would have to send it twice fails with
  /// ``HTTPError/Kind/bodyNotReplayable``; an attempt that took nothing from it does not count.
  public static func singleUse<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, _ chunks: Chunks
  ) -> RequestBody where Chunks.Element == Data {
    let once = SingleUse(SequenceSource(chunks))
    let open: @Sendable () async throws -> OpenBody = {
      OpenBody(source: CountedSource(OnlyReading(of: once), promised: length), length: length)
    }
    return RequestBody(.made(open), length: length, singleUses: [once])
  }

  /// Whether an exchange can send the body more than once, whatever happens.
  public var isReplayable: Bool { singleUses.isEmpty }

  /// Whether the body can be sent now: a stream that is there only once can, until the first byte was asked of it.
  ///
  /// What sends a request again asks this, and not ``isReplayable``: where the server could not be reached, or refused the
  /// request before its body was sent, even such a stream is untouched.
  public var canBeSent: Bool { singleUses.allSatisfy { !$0.isTaken } }

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
  /// What kind of body it is and how long, never what it says.
  public var description: String {
    switch storage {
    case .data(let data): data.isEmpty ? "no body" : "a body of \(data.count) bytes"
    case .file(let url): "the file '\(url.path)' as body"
    case .made: length.map { "a stream of \($0) bytes as body" } ?? "a stream as body"
    }
  }

  /// The description, so that `dump` shows no more.
  public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

/// A request's body opened for one attempt: its bytes, and how many there will be.
public struct OpenBody: Sendable {
  /// Where the bytes come from.
  public let source: any BodySource
  /// How many there are, nil where that is not known.
  public let length: Int64?

  package init(source: any BodySource, length: Int64?) {
    self.source = source
    self.length = length
  }
}

extension HTTPRequest {
  /// The request with the fields that describe its body, as far as it does not describe it itself.
  func describingBody() -> HTTPRequest { DescribedRequest(self).request }
}

/// A request with the fields that describe the body that it has at the moment.
///
/// Fields that the caller or an interceptor has set are theirs, and stay. Those that came from a body go when the request gets
/// another one, whose fields come in their place. One of the body's that is merely removed from the request comes again: to send
/// a body without it, take it out of ``RequestBody/fields``.
struct DescribedRequest {
  private(set) var request: HTTPRequest
  /// The fields that came from the body.
  private var added: HTTPFields = [:]

  init(_ request: HTTPRequest) {
    self.request = request
    describe()
  }

  /// Takes the request as an interceptor has made it.
  mutating func update(to prepared: HTTPRequest) {
    request = prepared
    guard !added.isEmpty || !prepared.body.fields.isEmpty else { return }
    for name in Set(added.map(\.name)) {
      let isUntouched = request.fields[values: name] == added[values: name]
      if isUntouched, request.body.fields[values: name] == added[values: name] { continue }
      // any other value is the interceptor's own
      if isUntouched { request.fields.remove(name) }
      added.remove(name)
    }
    describe()
  }

  private mutating func describe() {
    guard !request.body.fields.isEmpty else { return }
    let own = request.fields
    for (name, value) in request.body.fields where !own.contains(name) {
      request.fields.append(value, for: name)
      added.append(value, for: name)
    }
  }
}
