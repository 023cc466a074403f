import MartletSemantics

/// Requests that are sent together (`$batch`): reads, and change sets that are executed as a whole or not at all.
///
/// ```swift
/// var batch = ODataBatch()
/// let orders = batch.read(Order.self, in: "Orders", ODataQuery().top(5))
/// let created = batch.changeSet { changes in
///   let order = changes.create(["Customer": "Anna"] as [String: ODataLiteral], in: "Orders")
///   changes.create(["Name": "Tea"] as [String: ODataLiteral], in: changes.path(of: order).appending("Items"))
///   return order
/// }
/// let result = try await provider.send(batch)
/// print(try result.value(of: orders).values, try result.value(of: created).location?.rawValue ?? "")
/// ```
///
/// Each part of the batch has its own result or error: ``ODataBatchResult``.
public struct ODataBatch: Sendable {
  /// One request of a batch, with which its result is found.
  public struct Part<Value: Sendable>: Sendable {
    let id: Int
    let read: @Sendable (ODataAnswer) throws -> Value
  }

  struct Entry: Sendable {
    let id: Int
    /// The number of the change set; nil for a read.
    let group: Int?
    let operation: ODataOperation
  }

  private(set) var entries: [Entry] = []
  private var groups = 0

  /// Whether the service executes requests after one that failed (`Prefer: odata.continue-on-error`, V4). V2 does so
  /// anyway. False by default.
  public var continuesOnError = false

  /// Makes an empty batch.
  public init() {}

  fileprivate mutating func add<Value>(
    _ operation: ODataOperation, in group: Int?, _ read: @escaping @Sendable (ODataAnswer) throws -> Value
  ) -> Part<Value> {
    entries.append(Entry(id: entries.count + 1, group: group, operation: operation))
    return Part(id: entries.count, read: read)
  }

  /// Adds the read of a page.
  public mutating func read<Value: Decodable & Sendable>(
    _ type: Value.Type, in path: ODataPath, _ query: ODataQuery = ODataQuery()
  ) -> Part<ODataPage<Value>> {
    add(ODataOperation(.get, path, query), in: nil) { try $0.json.page(type) }
  }

  /// Adds the read of an entity.
  public mutating func read<Value: Decodable & Sendable>(
    _ type: Value.Type, at path: ODataPath, _ query: ODataQuery = ODataQuery()
  ) -> Part<ODataEntity<Value>> {
    add(ODataOperation(.get, path, query), in: nil) { try $0.entity(type) }
  }

  /// Adds changes that are executed together; none of them if the closure throws.
  @discardableResult public mutating func changeSet<Result>(
    _ make: (inout ChangeSet) throws -> Result
  ) rethrows -> Result {
    var changes = ChangeSet(batch: self, group: groups + 1)
    let result = try make(&changes)
    self = changes.batch
    groups += 1
    return result
  }

  /// Changes that are executed as a whole or not at all.
  public struct ChangeSet {
    fileprivate var batch: ODataBatch
    fileprivate let group: Int

    /// Adds the creation of an entity.
    @discardableResult public mutating func create(
      _ value: some Encodable & Sendable, in path: ODataPath
    ) -> Part<ODataReceipt> {
      batch.add(.create(value, in: path, returnsEntity: false), in: group) { $0.receipt }
    }

    /// Adds the creation of an entity that is returned as it was stored.
    public mutating func create<Value: Decodable & Sendable>(
      _ value: some Encodable & Sendable, in path: ODataPath, returning type: Value.Type
    ) -> Part<ODataEntity<Value>> {
      batch.add(.create(value, in: path, returnsEntity: true), in: group) { try $0.entity(type) }
    }

    /// Adds an update.
    @discardableResult public mutating func update(
      _ value: some Encodable & Sendable, at path: ODataPath, by method: ODataUpdate = .partial,
      ifMatch tag: String? = nil
    ) -> Part<ODataReceipt> {
      batch.add(.update(value, at: path, by: method, ifMatch: tag), in: group) { $0.receipt }
    }

    /// Adds a deletion.
    @discardableResult public mutating func delete(_ path: ODataPath, ifMatch tag: String? = nil) -> Part<ODataReceipt>
    {
      batch.add(.delete(path, ifMatch: tag), in: group) { $0.receipt }
    }

    /// Returns the path of an entity that this change set creates.
    public func path<Value>(of part: Part<Value>) -> ODataPath { ODataPath(reference: part.id) }
  }
}

/// The results of a batch.
public struct ODataBatchResult: Sendable {
  let answers: [Int: ODataAnswer]
  let options: ServiceOptions

  /// Returns the result of a part.
  ///
  /// - Throws: the part's own error. If a change set failed, each of its parts has the error of the one that failed.
  ///   ``ODataError/Kind/notExecuted`` if the service did not answer the part.
  public func value<Value>(of part: ODataBatch.Part<Value>) throws -> Value {
    guard let answer = answers[part.id] else {
      throw ODataError(
        .notExecuted,
        "the service did not answer request \(part.id) of the batch, as after an earlier failure: set continuesOnError")
    }
    try answer.check(options)
    return try part.read(answer)
  }
}

extension OnlineODataProvider {
  /// Sends a batch. An error of the whole is thrown here, and that of a part by ``ODataBatchResult/value(of:)``.
  @concurrent public func send(_ batch: ODataBatch) async throws -> ODataBatchResult {
    let connection = try connection()
    let (options, format) = (connection.options, connection.format)
    guard batch.entries.count <= options.limits.batchRequests else {
      throw ODataError(
        .invalidRequest,
        "the batch has \(batch.entries.count) requests: send several, or raise serviceOptions.limits.batchRequests")
    }
    guard !batch.entries.isEmpty else { return ODataBatchResult(answers: [:], options: options) }
    let isJSON = options.batchFormat == .json
    guard !isJSON || format.version == .v4 else {
      throw ODataError(.invalidRequest, "OData V2 has no JSON batch: set serviceOptions.batchFormat to .multipart")
    }
    let boundary = "batch_" + UUID().uuidString
    var fields = ODataOperation(.post, .root, fields: [("Accept", isJSON ? "application/json" : "multipart/mixed")])
      .fields(format)
    fields.append(("Content-Type", isJSON ? "application/json" : "multipart/mixed;boundary=\(boundary)"))
    if batch.continuesOnError { fields.append(("Prefer", "odata.continue-on-error")) }
    let url = try connection.root.url(ODataPath("$batch"), [], format.version)
    var request = connection.makeRequest(.post, url, fields)
    let writer = ODataBatchWriter(entries: batch.entries, root: connection.root, format: format)
    request.httpBody = isJSON ? try writer.json() : try writer.multipart(boundary)
    let answer = try await connection.send(request)
    let answers = isJSON ? try batch.answers(in: answer.json) : try batch.answers(in: answer)
    return ODataBatchResult(answers: answers, options: options)
  }
}

/// Writes a batch.
struct ODataBatchWriter {
  let entries: [ODataBatch.Entry]
  let root: ODataRoot
  let format: ODataFormat

  /// OData 4.01 Protocol §11.7.7; V2: Batch Processing §2.
  func multipart(_ boundary: String) throws -> Data {
    var text = ""
    for (index, entry) in entries.enumerated() {
      let changes = entry.group.map { boundary.replacing("batch", with: "changeset") + "_\($0)" }
      if let changes, index == 0 || entries[index - 1].group != entry.group {
        text += "--\(boundary)\r\nContent-Type: multipart/mixed;boundary=\(changes)\r\n\r\n"
      }
      text += "--\(changes ?? boundary)\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
      if changes != nil { text += "Content-ID: \(entry.id)\r\n" }
      text += try "\r\n" + http(entry.operation)
      if let changes, index == entries.count - 1 || entries[index + 1].group != entry.group {
        text += "--\(changes)--\r\n"
      }
    }
    return Data((text + "--\(boundary)--\r\n").utf8)
  }

  private func http(_ operation: ODataOperation) throws -> String {
    let version = format.version
    let url = try root.relative(operation.path, operation.options(version), version)
    let body = try operation.body.map { try $0(format).json() }
    var text = "\(operation.method(version).rawValue) \(url) HTTP/1.1\r\n"
    for field in operation.fields(format) { text += try "\(field.name): \(checked(field.value))\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return text + "\r\n" + (body ?? "") + "\r\n"
  }

  /// A line break in a tag would begin a field, or another request.
  private func checked(_ value: String) throws(ODataError) -> String {
    guard !value.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) else {
      throw ODataError(.invalidRequest, "a field of a batch's request has a control character: check ifMatch")
    }
    return value
  }

  /// OData 4.01 JSON Format §19.
  func json() throws -> Data {
    let requests = try entries.map { entry -> ODataJSON in
      let (operation, version) = (entry.operation, format.version)
      var request: [String: ODataJSON] = [
        "id": .string("\(entry.id)"), "method": .string(operation.method(version).rawValue),
        "url": .string(try root.relative(operation.path, operation.options(version), version)),
        "headers": .object(
          Dictionary(try operation.fields(format).map { ($0.name, .string(try checked($0.value))) }) { $1 }),
      ]
      if let body = operation.body { request["body"] = try body(format) }
      if let group = entry.group { request["atomicityGroup"] = .string("g\(group)") }
      let url = request["url"]?.text ?? ""
      if url.hasPrefix("$"), let id = Int(url.dropFirst().prefix { $0.isNumber }) {
        request["dependsOn"] = .array([.string("\(id)")])
      }
      return .object(request)
    }
    return Data(ODataJSON.object(["requests": .array(requests)]).json().utf8)
  }
}

// MARK: - Answers

extension ODataBatch {
  /// Assigns the parts of a multipart response in their order. A change set that failed has one response instead of one
  /// for each request.
  func answers(in response: ODataAnswer) throws(ODataError) -> [Int: ODataAnswer] {
    guard let boundary = Self.boundary(response.head.fields) else {
      throw ODataError(.invalidResponse, "the answer to the batch is not multipart: check that the service has batches")
    }
    var answers: [Int: ODataAnswer] = [:]
    var rest = entries[...]
    for part in try Self.parts(of: Array(response.body)[...], boundary) {
      guard let first = rest.first else { break }
      let set = first.group == nil ? rest.prefix(1) : rest.prefix { $0.group == first.group }
      rest = rest.dropFirst(set.count)
      guard let inner = Self.boundary(part.fields) else {
        let answer = try Self.answer(part)
        for entry in set { answers[entry.id] = answer }
        continue
      }
      let changes = try Self.parts(of: part.content, inner)
      let named = Dictionary(changes.map { ($0.fields["Content-ID"], $0) }) { first, _ in first }
      for (index, entry) in set.enumerated() where index < changes.count {
        answers[entry.id] = try Self.answer(named["\(entry.id)"] ?? changes[index])
      }
      spread(&answers, over: set)
    }
    return answers
  }

  private static func boundary(_ fields: HTTPFields) -> String? {
    guard let type = fields[.contentType].flatMap({ MediaType($0) }), type.type == "multipart" else { return nil }
    return type.parameters["boundary"]
  }

  private static func parts(
    of body: ArraySlice<UInt8>, _ boundary: String
  ) throws(ODataError) -> [MultipartReader.Part] {
    guard let parts = MultipartReader.parts(of: body, boundary: boundary) else {
      throw ODataError(.invalidResponse, "the answer to the batch is cut off")
    }
    return parts
  }

  private static func answer(_ part: MultipartReader.Part) throws(ODataError) -> ODataAnswer {
    guard let response = MultipartReader.response(in: part.content) else {
      throw ODataError(.invalidResponse, "a part of the answer to the batch has no status line")
    }
    return ODataAnswer(head: response.head, body: Data(response.body))
  }

  /// Assigns the responses of a JSON batch. One for a whole group has the group's name as its identifier.
  func answers(in json: ODataJSON) throws(ODataError) -> [Int: ODataAnswer] {
    guard let responses = json["responses"]?.elements else {
      throw ODataError(.invalidResponse, "the answer to the batch has no 'responses'")
    }
    guard responses.count <= entries.count else {
      throw ODataError(
        .invalidResponse, "the answer to the batch has \(responses.count) responses to \(entries.count) requests")
    }
    let groups = Dictionary(grouping: entries.filter { $0.group != nil }, by: \.group).values
    var named = Dictionary(uniqueKeysWithValues: entries.map { ("\($0.id)", [$0]) })
    for set in groups { if let group = set[0].group { named["g\(group)"] = set } }
    var answers: [Int: ODataAnswer] = [:]
    for response in responses {
      guard let status = response["status"]?.text.flatMap({ Int($0) }), let id = response["id"]?.text else { continue }
      var head = ResponseHead(status: HTTPStatus(status))
      if case .object(let fields)? = response["headers"] {
        for (name, value) in fields {
          if let name = try? FieldName(name) { head.fields.appendReceived(name, value.text ?? "") }
        }
      }
      let body = response["body"].map { Data(($0.text ?? $0.json()).utf8) } ?? Data()
      let answer = ODataAnswer(head: head, body: body)
      for entry in named.removeValue(forKey: id) ?? [] { answers[entry.id] = answer }
    }
    for set in groups { spread(&answers, over: set) }
    return answers
  }

  /// Gives the error of a change set even to those of its requests that the service did not answer: they were undone.
  private func spread(_ answers: inout [Int: ODataAnswer], over set: some Collection<Entry>) {
    guard let failed = set.compactMap({ answers[$0.id] }).first(where: { $0.head.status.code >= 400 }) else { return }
    for entry in set where answers[entry.id] == nil { answers[entry.id] = failed }
  }
}
