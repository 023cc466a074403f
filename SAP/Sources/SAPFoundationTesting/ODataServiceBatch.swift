@_spi(Toolkit) import MartletSemantics

// Batches (OData 4.01 Protocol §11.7; V2: Batch Processing).
extension ODataServiceState {
  mutating func batch(_ request: ODataServiceRequest) -> ODataServiceAnswer {
    if !isV2, request.fields[.contentType]?.hasPrefix("application/json") == true { return jsonBatch(request) }
    guard let parts = Self.parts(request.fields, String(decoding: request.body, as: UTF8.self)) else {
      return error(400, "no batch")
    }
    var text = ""
    for part in parts {
      if let changes = Self.parts(part.fields, part.content) {
        text += "--answer\r\n" + changeSet(changes, request.base)
        continue
      }
      let answer = Self.request(part.content, request.base).map { reply(to: $0) } ?? error(400, "no request")
      text += "--answer\r\n" + Self.part(answer, id: nil)
    }
    return ODataServiceAnswer(
      status: isV2 ? .accepted : .ok, fields: [.contentType: "multipart/mixed; boundary=answer"],
      body: Data((text + "--answer--\r\n").utf8))
  }

  /// Executes all changes, or none of them: then the answer is one response.
  private mutating func changeSet(_ changes: [Part], _ base: String) -> String {
    let before = self
    var text = "Content-Type: multipart/mixed; boundary=changes\r\n\r\n"
    var created: [String: String] = [:]
    for change in changes {
      guard var inner = Self.request(change.content, base) else { return Self.part(error(400, "no request"), id: nil) }
      inner.path = Self.resolved(inner.path, created)
      let answer = reply(to: inner)
      guard answer.status.isSuccessful else {
        self = before
        return Self.part(answer, id: nil)
      }
      let id = change.fields["Content-ID"]
      if let id, let location = answer.fields[.location] { created[id] = String(location.dropFirst(base.count)) }
      text += "--changes\r\n" + Self.part(answer, id: id)
    }
    return text + "--changes--\r\n"
  }

  private mutating func jsonBatch(_ request: ODataServiceRequest) -> ODataServiceAnswer {
    guard case .array(let requests)? = JSONValue.reading(request.body)?.members?["requests"] else {
      return error(400, "no requests")
    }
    var responses: [JSONValue] = []
    var created: [String: String] = [:]
    var before: [String: ODataServiceState] = [:]
    var failed: Set<String> = []
    for case .object(let item) in requests {
      let group = item["atomicityGroup"].map(\.plainText) ?? ""
      if !group.isEmpty, before[group] == nil { before[group] = self }
      guard !failed.contains(group) else { continue }
      let target = Self.resolved(item["url"]?.plainText ?? "", created)
      let (path, query) = Self.pathAndQuery(of: target)
      var fields: HTTPFields = [:]
      for (name, value) in item["headers"]?.members ?? [:] {
        if let name = try? FieldName(name) { fields[name] = value.plainText }
      }
      let answer = reply(
        to: ODataServiceRequest(
          method: item["method"]?.plainText ?? "", path: path, query: query, fields: fields,
          body: Data((item["body"]?.jsonText ?? "").utf8), base: request.base, isInBatch: true))
      let id = item["id"]?.plainText ?? ""
      if let location = answer.fields[.location] { created[id] = String(location.dropFirst(request.base.count)) }
      if !group.isEmpty, !answer.status.isSuccessful, let state = before[group] {
        self = state
        failed.insert(group)
        responses.removeAll { $0.members?["atomicityGroup"] == .string(group) }
      }
      responses.append(Self.response(answer, id, group))
    }
    return .json(.object(["responses": .array(responses)]))
  }

  private static func response(_ answer: ODataServiceAnswer, _ id: String, _ group: String) -> JSONValue {
    let headers = Dictionary(answer.fields.map { ($0.name.canonicalName, JSONValue.string($0.value)) }) { $1 }
    var response: [String: JSONValue] = [
      "id": .string(id), "status": .integer(Int64(answer.status.code)), "headers": .object(headers),
    ]
    if let body = JSONValue.reading(answer.body) { response["body"] = body }
    if !group.isEmpty { response["atomicityGroup"] = .string(group) }
    return .object(response)
  }

  /// Replaces `$1` at the beginning by the path of what request 1 created.
  private static func resolved(_ path: String, _ created: [String: String]) -> String {
    guard path.hasPrefix("$"), let target = created[String(path.dropFirst().prefix { $0 != "/" })] else { return path }
    return target + path.drop { $0 != "/" }
  }

  /// A part of a request: its fields, and the text after them.
  private typealias Part = (fields: HTTPFields, content: String)

  /// Returns the parts of a request (RFC 2046 §5.1); nil if it is cut off, because half of a batch must not be
  /// executed.
  private static func parts(_ fields: HTTPFields, _ body: String) -> [Part]? {
    guard let type = fields[.contentType].flatMap({ MediaType($0) }), type.type == "multipart",
      let boundary = type.parameters["boundary"]
    else { return nil }
    let lines = "\r\n" + (body.contains("\r\n") ? body : body.replacing("\n", with: "\r\n"))
    guard let end = lines.firstRange(of: "\r\n--\(boundary)--") else { return nil }
    return lines[..<end.lowerBound].split(separator: "\r\n--\(boundary)\r\n", omittingEmptySubsequences: false)
      .dropFirst().map { part(in: $0) }
  }

  /// Reads field lines up to the empty line. Lines that are none are ignored.
  private static func part(in text: Substring) -> Part {
    let lines = "\r\n" + text
    let end = lines.firstRange(of: "\r\n\r\n")
    var fields: HTTPFields = [:]
    for line in lines[..<(end?.lowerBound ?? lines.endIndex)].split(separator: "\r\n") {
      let name = line.prefix { $0 != ":" }
      if let name = try? FieldName(String(name)) { fields[name] = String(line.dropFirst(name.rawName.count + 1)) }
    }
    return (fields, end.map { String(lines[$0.upperBound...]) } ?? "")
  }

  /// Reads a request as it stands in a part.
  private static func request(_ text: String, _ base: String) -> ODataServiceRequest? {
    let line = text.prefix { $0 != "\r\n" }
    let words = line.split(separator: " ").map(String.init)
    guard words.count == 3 else { return nil }
    var (fields, body) = part(in: text.dropFirst(line.count + 1))
    while body.last?.isNewline == true { body.removeLast() }
    let target = words[1].hasPrefix(base) ? String(words[1].dropFirst(base.count)) : words[1]
    let (path, query) = pathAndQuery(of: target)
    return ODataServiceRequest(
      method: words[0], path: path, query: query, fields: fields, body: Data(body.utf8), base: base,
      isInBatch: true)
  }

  /// Returns both parts of a target, either of which may be empty.
  private static func pathAndQuery(of target: String) -> (path: String, query: String) {
    let path = target.prefix { $0 != "?" }
    return (String(path), String(target[path.endIndex...].dropFirst()))
  }

  private static func part(_ answer: ODataServiceAnswer, id: String?) -> String {
    var text = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
    if let id { text += "Content-ID: \(id)\r\n" }
    text += "\r\nHTTP/1.1 \(answer.status.code) X\r\n"
    for field in answer.fields { text += "\(field.name): \(field.value)\r\n" }
    return text + "Content-Length: \(answer.body.count)\r\n\r\n" + String(decoding: answer.body, as: UTF8.self) + "\r\n"
  }
}

extension JSONValue {
  /// A string's text; the JSON of anything else.
  fileprivate var plainText: String { if case .string(let text) = self { text } else { jsonText } }
}
