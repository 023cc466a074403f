@_spi(Toolkit) import MartletSemantics
public import MartletTesting
import Synchronization

/// A small OData service, V2 as SAP Gateway speaks it or V4 as RAP and CAP do, as the responder of a server.
///
/// ```swift
/// let service = ODataService(.init(version: .v4, sets: ["Orders": #"[{"ID": 1, "Status": "open"}]"#]))
/// let server = try LoopbackServer { service.reply(to: $0.received) }
/// let root = server.url("/odata?sap-client=100")
/// ```
///
/// - Entities have the key `ID`, a number that is assigned if it is missing. Each has an entity tag, which a change
///   compares: 412 if `If-Match` has another one, and 428 without it if ``Settings/requiresTags`` is set.
/// - `$top`, `$skip`, `$filter` with one `eq`, `$count` and `$inlinecount` work; other options of reading are ignored.
///   Sets are cut into pages with links.
/// - Nested entities stay in their entity. `Set(1)/Items` are the entities nested in one entity.
/// - A body that is not JSON creates a media entity; `Set(1)/$value` reads and replaces its bytes.
/// - `CountOf(Set='Orders')` is a function, `Ship(ID=1)` an action that sets `Status`; V4 also has it bound, as
///   `Orders(1)/Shop.Ship`.
/// - Batches are multipart, and in V4 also JSON. A change set is undone as a whole, with one answer. A batch within a
///   batch is refused with 400.
/// - Deltas: a read that asks for them, or any of V2, has a link to the later changes.
///
/// It does not ask for CSRF tokens or logins: put that in front of it. It is not a validator: what it does not know is
/// refused with 404 or 501.
public final class ODataService: Sendable {
  /// The version of the protocol.
  public enum Version: Sendable, Hashable, CaseIterable {
    /// OData 2.0.
    case v2
    /// OData 4.0 with the JSON batches of 4.01.
    case v4
  }

  /// The settings of a service.
  public struct Settings: Sendable {
    /// The version; V2 by default.
    public var version: Version
    /// The path of the root; `/odata` by default.
    public var root: String
    /// The sets, by name, as JSON arrays of entities. Others are created by the first entity in them.
    public var sets: [String: String]
    /// The maximum number of entities in a page; 100 by default.
    public var pageSize: Int
    /// Whether changes need `If-Match`; false by default.
    public var requiresTags: Bool
    /// The methods that a proxy in front of the service refuses with 405: only the tunnel, `X-HTTP-Method`, takes them.
    public var refusedMethods: Set<String>

    /// Makes settings; by default for an empty service.
    public init(
      version: Version = .v2, root: String = "/odata", sets: [String: String] = [:], pageSize: Int = 100,
      requiresTags: Bool = false, refusedMethods: Set<String> = []
    ) {
      (self.version, self.root, self.sets, self.pageSize) = (version, root, sets, pageSize)
      (self.requiresTags, self.refusedMethods) = (requiresTags, refusedMethods)
    }
  }

  private let state: Mutex<ODataServiceState>

  /// Makes a service. Sets that are no JSON arrays of objects stop the program.
  public init(_ settings: Settings = .init()) { state = Mutex(ODataServiceState(settings)) }

  /// Returns the reply to a request below the root; 404 for any other. Any thread may call it.
  public func reply(to request: ReceivedRequest) -> Reply {
    state.withLock { state in
      guard Self.isPath(request.path, below: state.settings.root) else { return .status(.notFound) }
      let path = String(request.path.dropFirst(state.settings.root.utf8.count).drop { $0 == "/" })
      let base = "http://" + (request.fields[.host] ?? "localhost") + state.settings.root + "/"
      let inner = ODataServiceRequest(
        method: request.method == .head ? "GET" : request.method.rawValue, path: path, query: request.query ?? "",
        fields: request.fields,
        body: request.body, base: base)
      return state.reply(to: inner).reply(state.settings.version)
    }
  }

  /// Whether a path is the root or below it.
  func serves(_ path: String) -> Bool { state.withLock { Self.isPath(path, below: $0.settings.root) } }

  private static func isPath(_ path: String, below root: String) -> Bool { path == root || path.hasPrefix(root + "/") }

  /// Changes an entity behind the client's back, so that its tag is outdated: `["Status": "lost"]`.
  public func change(_ set: String, _ id: Int, _ properties: [String: String]) {
    state.withLock { state in
      state.update(set, id) { entity in for (name, value) in properties { entity[name] = .string(value) } }
    }
  }

  /// Returns a property of an entity as text; nil if there is none.
  public func value(_ set: String, _ id: Int, _ property: String) -> String? {
    state.withLock { $0.sets[set]?[id]?.properties[property]?.jsonText }
  }

  /// The number of entities in a set.
  public func count(_ set: String) -> Int { state.withLock { $0.sets[set]?.count ?? 0 } }
}

/// A request of a connection or of a batch.
struct ODataServiceRequest {
  var method: String
  /// The path below the root, encoded.
  var path: String
  var query: String
  var fields: HTTPFields
  var body: Data
  /// The URL of the root, with a slash at its end.
  var base: String
  /// Whether it is a part of a batch.
  var isInBatch = false

  /// The options by name, decoded.
  var options: [String: String] {
    Dictionary(PercentEncoding.form.pairs(in: query).map { ($0.name, $0.value) }) { $1 }
  }

  func prefers(_ preference: String) -> Bool { fields[.init(stringLiteral: "Prefer")]?.contains(preference) == true }
}

/// A response, for a connection or a batch.
struct ODataServiceAnswer {
  var status: HTTPStatus
  var fields: HTTPFields = [:]
  var body = Data()

  static func json(_ value: JSONValue, status: HTTPStatus = .ok, fields: HTTPFields = [:]) -> Self {
    var fields = fields
    fields[.contentType] = "application/json"
    return Self(status: status, fields: fields, body: Data(value.jsonText.utf8))
  }

  func reply(_ version: ODataService.Version) -> Reply {
    var fields = fields
    fields[version == .v2 ? "DataServiceVersion" : "OData-Version"] = version == .v2 ? "2.0" : "4.0"
    return Reply(status: status, fields: fields, content: body)
  }
}

extension JSONValue {
  /// The value as JSON.
  var jsonText: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): JSONSyntax.quoted(text)
    case .array(let elements): "[" + elements.map(\.jsonText).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { JSONSyntax.quoted($0.key) + ":" + $0.value.jsonText }
        .joined(separator: ",") + "}"
    }
  }

  static func reading(_ data: Data) -> JSONValue? { try? JSONDecoder().decode(JSONValue.self, from: data) }

  var members: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}
