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
    add(ODataOperation(.get, path, query), in: nil) { try $0.page(type) }
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
      batch.add(.create(value, in: path, returnsEntity: false), in: group) { try $0.receipt }
    }

    /// Adds the creation of an entity that is returned as it was stored. If the service answers without it, the result
    /// is ``ODataError/Kind/resultNotRead`` with the receipt.
    public mutating func create<Value: Decodable & Sendable>(
      _ value: some Encodable & Sendable, in path: ODataPath, returning type: Value.Type
    ) -> Part<ODataEntity<Value>> {
      batch.add(.create(value, in: path, returnsEntity: true), in: group) { answer in
        try answer.result { try $0.entity(type) }
      }
    }

    /// Adds an update.
    @discardableResult public mutating func update(
      _ value: some Encodable & Sendable, at path: ODataPath, by method: ODataUpdate = .partial,
      ifMatch tag: String? = nil
    ) -> Part<ODataReceipt> {
      batch.add(.update(value, at: path, by: method, ifMatch: tag), in: group) { try $0.receipt }
    }

    /// Adds a deletion.
    @discardableResult public mutating func delete(_ path: ODataPath, ifMatch tag: String? = nil) -> Part<ODataReceipt>
    {
      batch.add(.delete(path, ifMatch: tag), in: group) { try $0.receipt }
    }

    /// Returns the path of an entity that this change set creates.
    public func path<Value>(of part: Part<Value>) -> ODataPath { ODataPath(reference: part.id) }
  }
}

/// The results of a batch.
public struct ODataBatchResult: Sendable {
  /// The answer to each request by its number; an error if its part of the response cannot be read.
  let answers: ODataBatchAnswers
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
    let received = try answer.get()
    try received.check(options)
    return try part.read(received)
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
    var answers = isJSON ? try batch.answers(in: answer.json) : try batch.answers(in: answer)
    for entry in batch.entries {
      let url = try connection.root.url(entry.operation.path, [], format.version)
      answers[entry.id] = answers[entry.id]?.map { $0.received(from: url) }
    }
    return ODataBatchResult(answers: answers, options: options)
  }
}
