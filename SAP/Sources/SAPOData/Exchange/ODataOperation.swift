@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// One request to a service, before it is known whether it is sent alone or in a batch.
struct ODataOperation: Sendable {
  var method: HTTPMethod
  var path: ODataPath
  var query: ODataQuery
  /// Fields in addition to the fields of the version.
  var ownFields: [(name: String, value: String)]
  /// The preferences of a change (RFC 7240), in V4 only.
  private var changePreferences: [String] = []
  /// V2's parameters of a function, which are options of the URL.
  var parameters: [(name: String, value: ODataLiteral)] = []
  var body: (@Sendable (ODataFormat) throws -> ODataJSON)?

  init(
    _ method: HTTPMethod, _ path: ODataPath, _ query: ODataQuery = ODataQuery(),
    fields: [(name: String, value: String)] = []
  ) {
    (self.method, self.path, self.query, ownFields) = (method, path, query, fields)
  }

  /// Returns a change with a body.
  private static func change(
    _ method: HTTPMethod, _ body: some Encodable & Sendable, _ path: ODataPath
  ) -> ODataOperation {
    var operation = ODataOperation(method, path)
    operation.body = { try ODataEncoder.encode(body, $0) }
    return operation
  }

  static func create(_ body: some Encodable & Sendable, in path: ODataPath, returnsEntity: Bool) -> ODataOperation {
    var operation = change(.post, body, path)
    operation.changePreferences = [returnsEntity ? "return=representation" : "return=minimal"]
    return operation
  }

  static func update(
    _ body: some Encodable & Sendable, at path: ODataPath, by method: ODataUpdate, ifMatch tag: String?
  ) -> ODataOperation {
    var operation = change(method.name ?? .patch, body, path)
    operation.isPartialUpdate = method == .partial
    operation.ownFields = tag.map { [("If-Match", $0)] } ?? []
    operation.changePreferences = ["return=minimal"]
    return operation
  }

  static func delete(_ path: ODataPath, ifMatch tag: String?) -> ODataOperation {
    ODataOperation(.delete, path, fields: tag.map { [("If-Match", $0)] } ?? [])
  }

  private var isPartialUpdate = false

  /// The method in this version: a partial update is V2's MERGE.
  func method(_ version: ODataVersion) -> HTTPMethod {
    isPartialUpdate ? (version == .v2 ? "MERGE" : .patch) : method
  }

  /// The encoded options of the URL.
  func options(_ version: ODataVersion) throws(ODataError) -> [String] {
    let encoding = PercentEncoding.queryComponent
    return try query.encoded(version)
      + parameters.map { encoding.encode($0.name) + "=" + encoding.encode($0.value.text(version)) }
  }

  /// The preferences for the version. The preferences of a read are sent in V2, too: a service ignores unknown ones.
  private func preferences(_ version: ODataVersion) -> [String] {
    var all: [String] = []
    if query.tracksChanges { all.append("odata.track-changes") }
    if let size = query.pageSize { all.append("odata.maxpagesize=\(size)") }
    return version == .v2 ? all : all + changePreferences
  }

  /// The fields for the version.
  func fields(_ format: ODataFormat) -> [(name: String, value: String)] {
    let has = { (name: String) in ownFields.contains { $0.name.lowercased() == name } }
    var all: [(name: String, value: String)] = []
    switch format.version {
    case .v2:
      if !has("accept") { all.append(("Accept", "application/json")) }
      all += [("DataServiceVersion", "2.0"), ("MaxDataServiceVersion", "2.0")]
      if body != nil { all.append(("Content-Type", "application/json")) }
    case .v4:
      let numbers = ";IEEE754Compatible=\(format.quotesNumbers)"
      if !has("accept") { all.append(("Accept", "application/json;odata.metadata=minimal" + numbers)) }
      all += [("OData-Version", "4.0"), ("OData-MaxVersion", "4.01")]
      if body != nil { all.append(("Content-Type", "application/json" + numbers)) }
    }
    let preferences = preferences(format.version)
    if !preferences.isEmpty { all.append(("Prefer", preferences.joined(separator: ", "))) }
    return all + ownFields
  }
}

/// How an entity is updated.
public enum ODataUpdate: Sendable, Hashable, CaseIterable {
  /// Only the properties that the value has: MERGE in V2, PATCH in V4. A nil that Swift's own `Codable` leaves out
  /// changes nothing; to set null, write `["Note": ODataLiteral.null]`.
  case partial
  /// All properties: what the value does not have gets its default (PUT).
  case whole
  /// PATCH, in V2 too: newer Gateways take it.
  case patch

  fileprivate var name: HTTPMethod? {
    switch self {
    case .partial: nil
    case .whole: .put
    case .patch: .patch
    }
  }
}

/// A response whose body was collected, alone or from a batch.
struct ODataAnswer: Sendable {
  var head: ResponseHead
  var body: Data
  /// The URL of the request.
  var url: URL?

  /// Returns the answer to a request for this URL.
  func received(from url: URL) -> ODataAnswer {
    var copy = self
    copy.url = url
    return copy
  }

  /// The payload; null for a 204, which has none (OData 4.01 Protocol §9.1.4).
  var json: ODataJSON {
    get throws(ODataError) {
      if body.isEmpty, head.status == .noContent { return .null }
      guard !body.isEmpty else { throw ODataError(.invalidResponse, "the response has no body: \(head.statusText)") }
      return try ODataJSON(body: body)
    }
  }

  func entity<Value: Decodable & Sendable>(_ type: Value.Type) throws -> ODataEntity<Value> {
    try json.unwrapped.entity(type, etag: head.fields[.eTag])
  }

  func page<Value: Decodable & Sendable>(_ type: Value.Type) throws -> ODataPage<Value> {
    try json.page(type, at: url)
  }

  // MARK: - Changes

  /// The payload of the answer to a change; nil if it has none, or is in Atom.
  ///
  /// The status alone says nothing, because a login page has 200, too. So the answer has to be one that OData allows:
  /// 204, or 200 or 201 with an object or without content (OData 4.01 Protocol §9.1, §11.4; V2 Operations).
  ///
  /// - Throws: `ODataError` for any other answer.
  private func confirmed() throws(ODataError) -> ODataJSON? {
    guard [.ok, .created, .noContent].contains(head.status) else {
      throw ODataError(.invalidResponse, "unexpected status \(head.statusText): the service did not confirm the change")
    }
    guard !body.isEmpty else { return nil }
    let subtype = head.fields[.contentType].flatMap { MediaType($0) }?.subtype ?? ""
    let isXML = subtype == "xml" || subtype.hasSuffix("+xml") && subtype != "xhtml+xml"
    if isXML, ODataErrorPayload(body: body) == nil { return nil }
    guard let json = try? ODataJSON(body: body), case .object = json else {
      throw .unconfirmed("the answer is not OData (\(subtype.isEmpty ? "without a type" : subtype.printable))")
    }
    return json
  }

  /// What the service says about a change.
  ///
  /// - Throws: `ODataError` if it did not confirm the change.
  var receipt: ODataReceipt {
    get throws(ODataError) { receipt(try confirmed()) }
  }

  private func receipt(_ payload: ODataJSON?) -> ODataReceipt {
    let payload = payload?.unwrapped
    let link = head.fields["OData-EntityId"] ?? head.fields[.location]
    return ODataReceipt(
      status: head.status,
      etag: (payload?["__metadata"]?["etag"] ?? payload?.annotation("etag"))?.text ?? head.fields[.eTag],
      location: link.map(ODataLink.init), messages: head.sapMessages)
  }

  /// Reads the result of a change.
  ///
  /// - Throws: `ODataError` if the service did not confirm the change; ``ODataError/Kind/resultNotRead`` with a receipt
  ///   if it did.
  func result<Value>(_ read: (ODataAnswer) throws -> Value) throws -> Value {
    let payload = try confirmed()
    do { return try read(self) } catch { throw ODataError(notReading: error, receipt(payload)) }
  }

  /// Throws the error that the response is.
  func check(_ options: ServiceOptions) throws {
    if let login = SAPLoginRequiredError(head.fields) { throw login }
    if options.checkVersion { try checkVersion(options.dataVersion) }
    let error = ODataServiceError(head, body: body)
    switch head.status {
    case .preconditionFailed:
      throw ODataError(
        .preconditionFailed, "the entity has changed since its tag was read: read it again, and repeat the change",
        error)
    case 428:
      throw ODataError(
        .preconditionRequired,
        "the service changes the entity only with its tag: pass the etag of the entity as ifMatch",
        error)
    case .forbidden where refusesToken(options.requiresToken):
      throw ODataError(.tokenRequired, ODataConnection.tokenRemedy, error)
    default: break
    }
    if let error { throw error }
    guard head.status.isSuccessful else {
      throw ODataError(.invalidResponse, "unexpected status \(head.statusText)")
    }
  }

  private func refusesToken(_ field: String) -> Bool {
    guard let name = try? FieldName(field) else { return false }
    return head.fields[values: name].contains { ASCII.equalIgnoringCase($0, "required") }
  }

  private func checkVersion(_ version: ODataVersion) throws(ODataError) {
    let found: ODataVersion? =
      head.fields["OData-Version"] != nil ? .v4 : head.fields["DataServiceVersion"] != nil ? .v2 : nil
    guard let found, found != version else { return }
    throw ODataError(
      .versionMismatch,
      "the service speaks OData \(found == .v4 ? "V4" : "V2"): set serviceOptions.dataVersion to .\(found)")
  }
}
