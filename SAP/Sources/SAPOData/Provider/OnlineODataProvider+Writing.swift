import MartletSemantics
@_spi(Toolkit) import SAPFoundation

// Changes. A service whose entities have tags wants `ifMatch`: the tag that was read, or `*` for any.
//
// A change has succeeded only if the service itself confirms it in a form that OData has. After a login page, a
// redirect to another server, or an error with status 200, these methods throw.
extension OnlineODataProvider {
  /// Creates an entity. Values that are nested in it are created with it, if the service has deep inserts.
  ///
  /// ```swift
  /// let receipt = try await provider.create(Order(customer: "Anna", items: [Item(name: "Tea")]), in: "Orders")
  /// ```
  @discardableResult @concurrent public func create(
    _ value: some Encodable & Sendable, in path: ODataPath
  ) async throws -> ODataReceipt {
    try await connection().send(.create(value, in: path, returnsEntity: false)).receipt
  }

  /// Creates an entity, and returns it as the service has stored it. If the service answers without it, it is read by
  /// its location.
  ///
  /// - Throws: ``ODataError/Kind/resultNotRead`` if the entity was created and cannot be read. Do not create it again:
  ///   the error's ``ODataError/receipt`` has its location.
  @concurrent public func create<Value: Decodable & Sendable>(
    _ value: some Encodable & Sendable, in path: ODataPath, returning type: Value.Type
  ) async throws -> ODataEntity<Value> {
    let connection = try connection()
    let answer = try await connection.send(.create(value, in: path, returnsEntity: true))
    guard answer.body.isEmpty else { return try answer.result { try $0.entity(type) } }
    let receipt = try answer.receipt
    guard let location = receipt.location else { return try answer.result { try $0.entity(type) } }
    do { return try await connection.send(ODataOperation(.get, ODataPath(location))).entity(type) } catch {
      throw ODataError(notReading: error, receipt)
    }
  }

  /// Updates an entity.
  ///
  /// ```swift
  /// let order = try await provider.entity(Order.self, at: path)
  /// try await provider.update(["Status": "paid"] as [String: ODataLiteral], at: path, ifMatch: order.etag)
  /// ```
  ///
  /// - Parameters:
  ///   - value: the new properties.
  ///   - path: the entity.
  ///   - method: which properties the value has; by default some (``ODataUpdate/partial``).
  ///   - tag: the tag that was read last; by default none, which a service with tags refuses.
  /// - Throws: ``ODataError/Kind/preconditionFailed`` if someone else changed the entity,
  ///   ``ODataError/Kind/preconditionRequired`` without a tag.
  @discardableResult @concurrent public func update(
    _ value: some Encodable & Sendable, at path: ODataPath, by method: ODataUpdate = .partial,
    ifMatch tag: String? = nil
  ) async throws -> ODataReceipt {
    try await connection().send(.update(value, at: path, by: method, ifMatch: tag)).receipt
  }

  /// Deletes an entity, or sets a property to null.
  @discardableResult @concurrent public func delete(
    _ path: ODataPath, ifMatch tag: String? = nil
  ) async throws -> ODataReceipt {
    try await connection().send(.delete(path, ifMatch: tag)).receipt
  }

  /// Runs an action: a V4 action, unbound or bound to a path, or a V2 function import by POST. Returns its result.
  ///
  /// - Parameters:
  ///   - name: the action; a bound one with its namespace: `com.example.Ship`.
  ///   - parameters: its parameters; in V4 the body, in V2 options of the URL.
  ///   - path: what it is bound to; by default nothing, as in V2.
  ///   - tag: the tag of the entity that it is bound to.
  ///   - type: the type of the result: an entity, a value, or an array of them; optional if the result may be null.
  @concurrent public func run<Value: Decodable & Sendable>(
    _ name: String, _ parameters: KeyValuePairs<String, ODataLiteral> = [:], on path: ODataPath = .root,
    ifMatch tag: String? = nil, returning type: Value.Type
  ) async throws -> Value {
    try await action(name, parameters, path, tag).result { try $0.json.result(type, of: name) }
  }

  /// Runs an action without a result, or ignores the result.
  @discardableResult @concurrent public func run(
    _ name: String, _ parameters: KeyValuePairs<String, ODataLiteral> = [:], on path: ODataPath = .root,
    ifMatch tag: String? = nil
  ) async throws -> ODataReceipt {
    try await action(name, parameters, path, tag).receipt
  }

  private func action(
    _ name: String, _ parameters: KeyValuePairs<String, ODataLiteral>, _ path: ODataPath, _ tag: String?
  ) async throws -> ODataAnswer {
    let connection = try connection()
    var operation = ODataOperation(.post, path.appending(name), fields: tag.map { [("If-Match", $0)] } ?? [])
    let pairs = parameters.map { ($0.key, $0.value) }
    if connection.format.version == .v2 {
      operation.parameters = pairs
    } else {
      operation.body = { format in .object(Dictionary(pairs.map { ($0, $1.json(format)) }) { $1 }) }
    }
    return try await connection.send(operation)
  }
}

// MARK: - Media

extension OnlineODataProvider {
  /// Reads the media of an entity (`$value`), or a stream property, and returns as soon as their head is there.
  ///
  /// ```swift
  /// let media = try await provider.download(ODataPath("Images").key("coffee").appending("$value"))
  /// for try await chunk in media { try file.write(contentsOf: chunk) }
  /// ```
  @concurrent public func download(_ path: ODataPath) async throws -> ODataMedia {
    let connection = try connection()
    let operation = ODataOperation(.get, path, fields: [("Accept", "*/*")])
    let version = connection.format.version
    let request = connection.makeRequest(
      .get, try connection.root.url(path, [], version), operation.fields(connection.format))
    let (bytes, head) = try await connection.open(request)
    if !head.status.isSuccessful || SAPLoginRequiredError(head.fields) != nil {
      let body = try await connection.collect(bytes, upTo: connection.options.limits.responseBytes)
      try ODataAnswer(head: head, body: body).check(connection.options)
    }
    connection.tracing.trace(ODataAnswer(head: head, body: Data()), to: request)
    return ODataMedia(
      type: head.fields[.contentType], etag: head.fields[.eTag],
      length: head.fields[.contentLength].flatMap { Int64($0) }, bytes: bytes)
  }

  /// Creates a media entity from its bytes.
  ///
  /// - Parameters:
  ///   - content: the bytes, which are read as they are sent.
  ///   - type: the media type.
  ///   - path: the set of media entities.
  ///   - name: a name for the entity (`Slug`), percent-encoded as RFC 5023 §9.7 prescribes; none by default.
  @discardableResult @concurrent public func createMedia(
    _ content: ODataContent, type: String, in path: ODataPath, name: String? = nil
  ) async throws -> ODataReceipt {
    let slug = name.map { [("Slug", $0.addingPercentEncoding(withAllowedCharacters: .slug) ?? $0)] } ?? []
    return try await upload(content, type, .post, path, slug)
  }

  /// Replaces the media of an entity (`…/$value`), or a stream property.
  @discardableResult @concurrent public func replaceMedia(
    _ content: ODataContent, type: String, at path: ODataPath, ifMatch tag: String? = nil
  ) async throws -> ODataReceipt {
    try await upload(content, type, .put, path, tag.map { [("If-Match", $0)] } ?? [])
  }

  private func upload(
    _ content: ODataContent, _ type: String, _ method: HTTPMethod, _ path: ODataPath, _ fields: [(String, String)]
  ) async throws -> ODataReceipt {
    let connection = try connection()
    let operation = ODataOperation(method, path, fields: [("Content-Type", type)] + fields)
    let url = try connection.root.url(path, [], connection.format.version)
    var request = connection.makeRequest(method, url, operation.fields(connection.format))
    switch content {
    case .data(let data): return try await connection.send(request, uploading: .data(data)).receipt
    case .file(let file): return try await connection.send(request, uploading: .file(file)).receipt
    case .stream(let length, let make):
      if let length { request.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
      return try await connection.send(request, uploading: .stream(make)).receipt
    }
  }
}

/// The bytes of media that are sent.
@nonexhaustive public enum ODataContent: Sendable {
  /// Bytes in memory.
  case data(Data)
  /// A file, read as it is sent.
  case file(URL)
  /// A stream of this many bytes; nil sends it in chunks. The closure makes a new one each time the request is sent,
  /// even after a login or a new CSRF token.
  case stream(length: Int64?, @Sendable () -> InputStream?)
}

extension ODataContent: CustomStringConvertible, CustomReflectable {
  /// The number of bytes, or the file.
  public var description: String {
    switch self {
    case .data(let data): "\(data)"
    case .file(let url): "the file \(url.path)"
    case .stream(let length, _): length.map { "a stream of \($0) bytes" } ?? "a stream"
    }
  }

  /// The description alone, because the bytes may be secrets.
  public var customMirror: Mirror { Mirror(self, children: ["content": description]) }
}

/// The bytes of media as they arrive. They can be iterated once; a slow reader makes the server wait, and leaving the
/// loop ends the transfer.
public struct ODataMedia: AsyncSequence, Sendable {
  public typealias Element = Data

  /// The media type.
  public let type: String?
  /// The tag, for `ifMatch` when the media are replaced.
  public let etag: String?
  /// The number of bytes, if the server says it.
  public let length: Int64?
  let bytes: SAPURLSession.AsyncBytes

  public func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes.makeAsyncIterator()) }

  /// Iterates over the chunks.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var bytes: SAPURLSession.AsyncBytes.Iterator

    /// Returns the next bytes; nil at the end.
    public mutating func next() async throws -> Data? { try await bytes.nextChunk() }
  }
}

extension CharacterSet {
  /// Printable ASCII without the percent sign.
  fileprivate static let slug = CharacterSet(charactersIn: " "..."~").subtracting(CharacterSet(charactersIn: "%"))
}
