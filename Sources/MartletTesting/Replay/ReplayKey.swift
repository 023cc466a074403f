import MartletSemantics

/// What is compared of a request, recorded or new: without its secrets, and written in one way.
struct ReplayKey: Sendable {
  private let method: String?
  private let origin: String?
  private let path: String
  private let query: [String: [String]]
  private let fields: [FieldName: [String]]
  private let body: ReplayContent

  init(_ request: HAR.Request, _ matching: ReplayMatching, _ redaction: Redaction) {
    method = matching.method ? request.method : nil
    let target = redaction.redacted(reference: String(request.url.prefix { $0 != "#" }))
    let url = URL(string: target)
    origin = matching.host ? url.flatMap { Origin($0)?.description } ?? target : nil
    let path = url?.path(percentEncoded: true) ?? target
    self.path = path.isEmpty ? "/" : path
    let start = target.firstIndex(of: "?").map { target.index(after: $0) } ?? target.endIndex
    query = Self.grouped(PercentEncoding.form.pairs(in: target[start...]).filter { matching.query.compares($0.name) })
    var fields: [FieldName: [String]] = [:]
    for header in request.headers {
      guard let name = try? FieldName(header.name), matching.fields.contains(name) else { continue }
      fields[name, default: []].append(redaction.redacted(header.value, of: name))
    }
    self.fields = fields
    body = matching.body.compares(request.method) ? ReplayContent(of: request, redaction) : .notCompared
  }

  /// The values of each name, in order.
  static func grouped(_ pairs: [(name: String, value: String)]) -> [String: [String]] {
    Dictionary(grouping: pairs, by: \.name).mapValues { $0.map(\.value) }
  }

  /// What differs, for people; empty where the requests are the same.
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

  /// How far apart two requests are that are not the same. Another path is another resource, whatever else is alike.
  func distance(from other: ReplayKey) -> Int {
    let shared = zip(path.utf8, other.path.utf8).prefix { $0 == $1 }.count
    let isElsewhere = path != other.path || origin != other.origin
    return differences(from: other).count * 100 + (isElsewhere ? 1000 : 0) - min(shared, 99)
  }
}

/// A request's body as it is compared.
enum ReplayContent: Sendable, Hashable {
  /// It is not to be compared, or not known whole.
  case notCompared
  case json(JSONValue)
  case form([String: [String]])
  case bytes(Data)

  init(of request: HAR.Request, _ redaction: Redaction) {
    guard let data = request.postData else {
      self = request.bodySize > 0 ? .notCompared : .bytes(Data())
      return
    }
    let field = request.headers.first { ASCII.equalIgnoringCase($0.name, "content-type") }
    let type = MediaType(data.mimeType) ?? field.flatMap { MediaType($0.value) }
    let isInParts = type?.type == "multipart"
    guard data.comment == nil, let bytes = data.bytes, !isInParts || data.text != nil else {
      self = .notCompared
      return
    }
    let shown = redaction.redacted(bytes, type: type)
    if let type, type.matches("application/x-www-form-urlencoded") {
      self = .form(ReplayKey.grouped(PercentEncoding.form.pairs(in: String(decoding: shown, as: UTF8.self))))
    } else if isInParts, let boundary = type?.parameters["boundary"] {
      self = .bytes(Data(String(decoding: shown, as: UTF8.self).replacing("--" + boundary, with: "--").utf8))
    } else if type?.isJSON ?? true, let json = try? JSONDecoder().decode(JSONValue.self, from: shown) {
      self = .json(json)
    } else {
      self = .bytes(shown)
    }
  }

  func matches(_ other: ReplayContent) -> Bool { self == .notCompared || other == .notCompared || self == other }
}
