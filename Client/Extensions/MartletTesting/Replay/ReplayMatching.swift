@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) public import MartletSemantics

/// Which parts of requests a ``ReplayTransport`` compares to find the recorded response.
///
/// ```swift
/// var matching = ReplayMatching()
/// matching.host = false                       // recorded against a server on another port
/// matching.query = .except(["timestamp"])
/// matching.fields = [.accept]
/// ```
///
/// Requests are compared after redaction, so that redacted values match any value.
public struct ReplayMatching: Sendable, Hashable {
  /// Which query parameters are compared. Their order does not matter, except among parameters of the same name.
  public enum Query: Sendable, Hashable {
    /// All of them.
    case all
    /// None.
    case ignored
    /// The parameters with these names.
    case only(Set<String>)
    /// All parameters except those with these names.
    case except(Set<String>)
  }

  /// For which requests the body is compared.
  ///
  /// JSON is compared by value, a form by its parameters, a multipart body without its boundary, and any other body by
  /// its bytes. An incomplete recorded body is not compared.
  public enum Body: Sendable, Hashable {
    /// For every request.
    case always
    /// For requests with an unsafe method (RFC 9110 §9.2.1): POST, PUT, PATCH, DELETE.
    case ofUnsafeMethods
    /// For none.
    case ignored
  }

  /// Whether the method is compared; true by default.
  public var method = true
  /// Whether scheme, host and port are compared; true by default.
  public var host = true
  /// Which query parameters are compared; all by default. The path is always compared.
  public var query = Query.all
  /// The fields that are compared; none by default.
  public var fields: Set<FieldName> = []
  /// For which requests the body is compared; by default for requests with an unsafe method.
  public var body = Body.ofUnsafeMethods
  /// Whether a request gets the last of its recorded responses again after all were used; true by default. If false,
  /// that is an error.
  public var repeatsLastAnswer = true

  /// Makes the default: method, URL, and the body of unsafe methods.
  public init() {}
}

extension ReplayMatching.Query {
  func compares(_ name: String) -> Bool {
    switch self {
    case .all: true
    case .ignored: false
    case .only(let names): names.contains(name)
    case .except(let names): !names.contains(name)
    }
  }
}

extension ReplayMatching.Body {
  func compares(_ method: String) -> Bool {
    switch self {
    case .always: true
    case .ofUnsafeMethods: HTTPMethod(rawValue: method)?.isSafe != true
    case .ignored: false
    }
  }
}

/// The compared parts of a request, redacted and normalized.
struct ReplayKey: Sendable {
  private let method: String?
  private let origin: String?
  private let path: String
  private let query: [String: [String]]
  private let fields: [FieldName: [String]]
  private let body: ComparedBody

  init(_ request: HAR.Request, _ matching: ReplayMatching, _ redaction: Redaction) {
    method = matching.method ? request.method : nil
    let request = request.redacted(redaction)
    let target = String(request.url.prefix { $0 != "#" })
    let url = URL(text: target)
    origin = matching.host ? url.flatMap { Origin($0)?.description } ?? target : nil
    let path = url?.path(percentEncoded: true) ?? target
    self.path = path.isEmpty ? "/" : path
    let start = target.firstIndex(of: "?").map { target.index(after: $0) } ?? target.endIndex
    query = Self.grouped(PercentEncoding.form.pairs(in: target[start...]).filter { matching.query.compares($0.name) })
    var fields: [FieldName: [String]] = [:]
    for header in request.headers {
      guard let name = try? FieldName(header.name), matching.fields.contains(name) else { continue }
      fields[name, default: []].append(header.value)
    }
    self.fields = fields
    body = matching.body.compares(request.method) ? ComparedBody(of: request) : .notCompared
  }

  /// Groups the values by name, in order.
  static func grouped(_ pairs: [(name: String, value: String)]) -> [String: [String]] {
    Dictionary(grouping: pairs, by: \.name).mapValues { $0.map(\.value) }
  }

  /// Returns the names of the parts that differ, for messages; empty if the requests are equal.
  func differences(from other: ReplayKey) -> [String] {
    var differences: [String] = []
    if path != other.path { differences.append("path") }
    if origin != other.origin { differences.append("host") }
    if method != other.method { differences.append("method") }
    let names = Set(query.keys).union(other.query.keys).filter { query[$0] != other.query[$0] }
    differences += names.sorted().map { "parameter '\($0)'" }
    let lines = Set(fields.keys).union(other.fields.keys).filter { fields[$0] != other.fields[$0] }
    differences += lines.map(\.rawName).sorted().map { "field '\($0)'" }
    if !body.matches(other.body) { differences.append("body") }
    return differences
  }

  /// Returns a measure of how much two requests differ. Another path or host counts most.
  func distance(from other: ReplayKey) -> Int {
    let shared = zip(path.utf8, other.path.utf8).prefix { $0 == $1 }.count
    let isElsewhere = path != other.path || origin != other.origin
    return differences(from: other).count * 100 + (isElsewhere ? 1000 : 0) - min(shared, 99)
  }
}

/// A request's body in comparable form.
enum ComparedBody: Sendable, Hashable {
  /// The body is not compared, or incomplete.
  case notCompared
  case json(JSONValue)
  case form([String: [String]])
  case bytes(Data)

  init(of request: HAR.Request) {
    guard let data = request.postData else {
      self = request.bodySize > 0 ? .notCompared : .bytes(Data())
      return
    }
    let type = MediaType(data.mimeType) ?? request.mediaType
    let isInParts = type?.type == "multipart"
    guard data.comment == nil, let bytes = data.bytes, !isInParts || data.text != nil else {
      self = .notCompared
      return
    }
    if let type, type.matches("application/x-www-form-urlencoded") {
      self = .form(ReplayKey.grouped(PercentEncoding.form.pairs(in: String(decoding: bytes, as: UTF8.self))))
    } else if isInParts, let boundary = type?.parameters["boundary"] {
      self = .bytes(Data(String(decoding: bytes, as: UTF8.self).replacing("--" + boundary, with: "--").utf8))
    } else if type?.isJSON ?? true, let json = try? JSONDecoder().decode(JSONValue.self, from: bytes) {
      self = .json(json)
    } else {
      self = .bytes(bytes)
    }
  }

  func matches(_ other: ComparedBody) -> Bool { self == .notCompared || other == .notCompared || self == other }
}
