@_spi(Toolkit) import MartletSemantics
import MartletTesting

/// The entities of a service, and its replies. It is a value behind a lock; a change set works on a copy.
struct ODataServiceState: Sendable {
  struct Entity: Sendable {
    var properties: [String: JSONValue]
    /// The number of the change that made it so.
    var version: Int
    var media: (type: String, bytes: Data)?

    var etag: String { "W/\"\(version)\"" }
  }

  let settings: ODataService.Settings
  private(set) var sets: [String: [Int: Entity]] = [:]
  private var changes = 0
  private var removals: [(set: String, id: Int, version: Int)] = []
  var isV2: Bool { settings.version == .v2 }

  init(_ settings: ODataService.Settings) {
    self.settings = settings
    for (name, text) in settings.sets {
      guard case .array(let entities)? = JSONValue.reading(Data(text.utf8)) else {
        preconditionFailure("the set '\(name)' must be a JSON array of entities")
      }
      for entity in entities { _ = insert(entity.members ?? [:], into: name) }
    }
  }

  // MARK: - Changes

  private mutating func insert(
    _ properties: [String: JSONValue], into set: String, media: (String, Data)? = nil
  ) -> Int {
    changes += 1
    var properties = properties.filter { !$0.key.hasPrefix("@") && $0.key != "__metadata" }
    if case .integer? = properties["ID"] {
    } else {
      properties["ID"] = .integer(Int64(freeID(in: set)))
    }
    guard case .integer(let id)? = properties["ID"] else { return 0 }
    sets[set, default: [:]][Int(id)] = Entity(properties: properties, version: changes, media: media)
    return Int(id)
  }

  /// Returns the number after the largest one, or the smallest free one if there is none after it.
  private func freeID(in set: String) -> Int {
    let entities = sets[set] ?? [:]
    let (next, overflows) = (entities.keys.max() ?? 0).addingReportingOverflow(1)
    return overflows ? (1...).first { entities[$0] == nil } ?? 0 : next
  }

  mutating func update(_ set: String, _ id: Int, _ change: (inout [String: JSONValue]) -> Void) {
    changes += 1
    guard var entity = sets[set]?[id] else { return }
    change(&entity.properties)
    entity.version = changes
    sets[set]?[id] = entity
  }

  // MARK: - Replies

  mutating func reply(to request: ODataServiceRequest) -> ODataServiceAnswer {
    var request = request
    if settings.refusedMethods.contains(request.method) { return error(405, "the proxy refuses \(request.method)") }
    if request.method == "POST", let method = request.fields["X-HTTP-Method"] { request.method = method }
    let segments = request.path.split(separator: "/").map { PercentEncoding.pathSegment.decode($0) }
    guard let first = segments.first else { return .json(.object(["value": .array([])])) }
    if first == "$batch" {
      return request.isInBatch ? error(400, "A batch cannot contain a batch") : batch(request)
    }
    let (name, key) = Self.parts(of: first)
    let rest = Array(segments.dropFirst())
    if name == "CountOf" { return countOf(key ?? request.options["Set"] ?? "", isInline: key != nil) }
    if name == "Ship" || rest.last == "Shop.Ship" { return ship(name, key, request) }
    guard let key else { return set(name, rest, request) }
    guard let id = Int(key.hasPrefix("ID=") ? String(key.dropFirst(3)) : key), sets[name]?[id] != nil else {
      return error(404, "Resource not found for the segment '\(name)'")
    }
    return entity(name, id, rest, request)
  }

  /// Returns `Orders` and `1` of `Orders(1)`.
  static func parts(of segment: String) -> (String, String?) {
    guard segment.hasSuffix(")"), let open = segment.firstIndex(of: "(") else { return (segment, nil) }
    return (String(segment[..<open]), String(segment[segment.index(after: open)...].dropLast()))
  }

  func error(_ status: HTTPStatus, _ message: String) -> ODataServiceAnswer {
    let text: JSONValue = isV2 ? .object(["lang": .string("en"), "value": .string(message)]) : .string(message)
    return .json(.object(["error": .object(["code": .string("ZS/\(status.code)"), "message": text])]), status: status)
  }

  private mutating func set(
    _ name: String, _ rest: [String], _ request: ODataServiceRequest
  ) -> ODataServiceAnswer {
    switch request.method {
    case "GET":
      guard sets[name] != nil else { return error(404, "Resource not found for the segment '\(name)'") }
      let selected: [Int]
      do { selected = try ids(name, request.options) } catch { return self.error(501, "only 'Name eq value' works") }
      if rest == ["$count"] { return ODataServiceAnswer(status: .ok, body: Data("\(selected.count)".utf8)) }
      return page(name, selected, request)
    case "POST":
      let type = request.fields[.contentType] ?? ""
      guard type.hasPrefix("application/json") else {
        let slug = request.fields["Slug"].map { ["Name": JSONValue.string(PercentEncoding.form.decode($0))] } ?? [:]
        let id = insert(slug, into: name, media: (type, request.body))
        return created(name, id, request)
      }
      guard let properties = JSONValue.reading(request.body)?.members else { return error(400, "no JSON object") }
      if properties["Status"] == .string("invalid") { return error(400, "Status 'invalid' is not allowed") }
      let id = insert(properties, into: name)
      return created(name, id, request)
    default: return error(405, "the set has no \(request.method)")
    }
  }

  private func created(_ name: String, _ id: Int, _ request: ODataServiceRequest) -> ODataServiceAnswer {
    let location = request.base + "\(name)(\(id))"
    guard let entity = sets[name]?[id] else { return error(500, "lost") }
    var fields: HTTPFields = [.location: location, .eTag: entity.etag]
    if !isV2, request.prefers("return=minimal") {
      fields["OData-EntityId"] = location
      return ODataServiceAnswer(status: .noContent, fields: fields)
    }
    let shown = shown(name, id, entity, request.base)
    return .json(isV2 ? .object(["d": shown]) : shown, status: .created, fields: fields)
  }

  private mutating func entity(
    _ name: String, _ id: Int, _ rest: [String], _ request: ODataServiceRequest
  ) -> ODataServiceAnswer {
    guard let entity = sets[name]?[id] else { return error(404, "gone") }
    if request.method == "GET" { return read(name, id, entity, rest, request) }
    if request.method == "POST", let property = rest.first { return append(name, id, property, request) }
    guard let tag = request.fields[.ifMatch] ?? (settings.requiresTags ? nil : "*") else {
      return error(428, "Precondition required")
    }
    guard tag == "*" || tag == entity.etag else { return error(412, "The entity was changed by another user") }
    if rest == ["$value"], request.method == "PUT" {
      update(name, id) { _ in }
      sets[name]?[id]?.media = (request.fields[.contentType] ?? "", request.body)
      return ODataServiceAnswer(status: .noContent, fields: [.eTag: sets[name]?[id]?.etag ?? ""])
    }
    if request.method == "DELETE" {
      changes += 1
      sets[name]?[id] = nil
      removals.append((name, id, changes))
      return ODataServiceAnswer(status: .noContent)
    }
    guard let properties = JSONValue.reading(request.body)?.members else { return error(400, "no JSON object") }
    if properties["Status"] == .string("invalid") { return error(400, "Status 'invalid' is not allowed") }
    switch request.method {
    case "PUT": update(name, id) { $0 = properties.merging(["ID": .integer(Int64(id))]) { $1 } }
    case "MERGE", "PATCH": update(name, id) { $0.merge(properties) { $1 } }
    default: return error(405, "the entity has no \(request.method)")
    }
    return ODataServiceAnswer(status: .noContent, fields: [.eTag: sets[name]?[id]?.etag ?? ""])
  }

  /// Adds an entity to the nested ones of another.
  private mutating func append(
    _ name: String, _ id: Int, _ property: String, _ request: ODataServiceRequest
  ) -> ODataServiceAnswer {
    guard let body = JSONValue.reading(request.body) else { return error(400, "no JSON object") }
    update(name, id) { entity in
      guard case .array(let elements)? = entity[property] else { return entity[property] = .array([body]) }
      entity[property] = .array(elements + [body])
    }
    return .json(isV2 ? .object(["d": body]) : body, status: .created)
  }

  private func read(
    _ name: String, _ id: Int, _ entity: Entity, _ rest: [String], _ request: ODataServiceRequest
  ) -> ODataServiceAnswer {
    switch rest.first {
    case nil:
      let shown = shown(name, id, entity, request.base)
      return .json(isV2 ? .object(["d": shown]) : shown, fields: [.eTag: entity.etag])
    case "$value"?:
      guard let media = entity.media else { return error(404, "the entity has no media") }
      return ODataServiceAnswer(
        status: .ok, fields: [.contentType: media.type, .eTag: entity.etag], body: media.bytes)
    case let property?:
      guard let value = entity.properties[property] else { return error(404, "there is no '\(property)'") }
      return .json(isV2 ? .object(["d": .object(["results": value])]) : .object(["value": value]))
    }
  }

  private func countOf(_ parameter: String, isInline: Bool) -> ODataServiceAnswer {
    let name = parameter.split(separator: "'").last.map(String.init) ?? ""
    let count = JSONValue.integer(Int64(sets[name]?.count ?? 0))
    return .json(isV2 ? .object(["d": .object(["CountOf": count])]) : .object(["value": count]))
  }

  private mutating func ship(_ name: String, _ key: String?, _ request: ODataServiceRequest) -> ODataServiceAnswer {
    guard request.method == "POST" else { return error(405, "an action needs POST") }
    let given = request.options["ID"] ?? JSONValue.reading(request.body)?.members?["ID"]?.jsonText
    let set = name == "Ship" ? "Orders" : name
    guard let id = (key ?? given).flatMap({ Int($0) }), sets[set]?[id] != nil else { return error(404, "no order") }
    update(set, id) { $0["Status"] = .string("shipped") }
    guard let entity = sets[set]?[id] else { return error(500, "lost") }
    let shown = shown(set, id, entity, request.base)
    return .json(isV2 ? .object(["d": shown]) : shown)
  }
}

// MARK: - Sets

extension ODataServiceState {
  private struct Unsupported: Error {}

  private func ids(_ name: String, _ options: [String: String]) throws -> [Int] {
    let all = (sets[name] ?? [:]).keys.sorted()
    guard let filter = options["$filter"] else { return all }
    let words = filter.split(separator: " ", maxSplits: 2).map(String.init)
    guard words.count == 3, words[1] == "eq" else { throw Unsupported() }
    let isText = words[2].hasPrefix("'")
    let wanted = isText ? String(words[2].dropFirst().dropLast()).replacing("''", with: "'") : words[2]
    return all.filter { id in
      guard let value = sets[name]?[id]?.properties[words[0]] else { return false }
      return isText ? value == .string(wanted) : value.jsonText == wanted
    }
  }

  private func page(_ name: String, _ selected: [Int], _ request: ODataServiceRequest) -> ODataServiceAnswer {
    let options = request.options
    if let token = (options["$deltatoken"] ?? options["!deltatoken"])?.filter(\.isNumber), let since = Int(token) {
      return delta(name, since, request.base)
    }
    guard let start = Self.count(options["$skiptoken"]), let skipped = Self.count(options["$skip"]),
      let limit = Self.count(options["$top"], otherwise: .max)
    else { return error(400, "$skip, $top and $skiptoken must be numbers that are not negative") }
    let wanted = selected.dropFirst(skipped).prefix(limit)
    let entities = wanted.dropFirst(start).prefix(settings.pageSize).compactMap { id in
      sets[name]?[id].map { shown(name, id, $0, request.base) }
    }
    var page: [String: JSONValue] = [isV2 ? "results" : "value": .array(entities)]
    let end = start + entities.count
    if end < wanted.count {
      let kept =
        request.query.split(separator: "&").map(String.init).filter { !$0.contains("skiptoken") }
        + ["$skiptoken=\(end)"]
      page[isV2 ? "__next" : "@odata.nextLink"] = .string(request.base + name + "?" + kept.joined(separator: "&"))
    } else if isV2 || request.prefers("odata.track-changes") {
      page[isV2 ? "__delta" : "@odata.deltaLink"] = deltaLink(name, request.base)
    }
    if options["$inlinecount"] == "allpages" { page["__count"] = .string("\(selected.count)") }
    if options["$count"] == "true" { page["@odata.count"] = .integer(Int64(selected.count)) }
    if !isV2 { page["@odata.context"] = .string(request.base + "$metadata#\(name)") }
    return .json(isV2 ? .object(["d": .object(page)]) : .object(page))
  }

  /// Returns the number in an option, or the other one without the option; nil if it is negative or no number.
  private static func count(_ option: String?, otherwise count: Int = 0) -> Int? {
    guard let option else { return count }
    return Int(option).flatMap { $0 < 0 ? nil : $0 }
  }

  private func deltaLink(_ name: String, _ base: String) -> JSONValue {
    .string(base + name + (isV2 ? "?!deltatoken='\(changes)'" : "?$deltatoken=\(changes)"))
  }

  private func delta(_ name: String, _ since: Int, _ base: String) -> ODataServiceAnswer {
    let changed = (sets[name] ?? [:]).filter { $0.value.version > since }.sorted { $0.key < $1.key }
    var entities = changed.map { shown(name, $0.key, $0.value, base) }
    if isV2 {
      return .json(.object(["d": .object(["results": .array(entities), "__delta": deltaLink(name, base)])]))
    }
    for removal in removals where removal.set == name && removal.version > since {
      entities.append(
        .object([
          "@removed": .object(["reason": .string("deleted")]), "@id": .string(base + "\(name)(\(removal.id))"),
          "ID": .integer(Int64(removal.id)),
        ]))
    }
    return .json(.object(["value": .array(entities), "@odata.deltaLink": deltaLink(name, base)]))
  }

  private func shown(_ name: String, _ id: Int, _ entity: Entity, _ base: String) -> JSONValue {
    var properties = entity.properties
    let uri = base + "\(name)(\(id))"
    guard isV2 else {
      properties["@odata.etag"] = .string(entity.etag)
      if let media = entity.media { properties["@odata.mediaContentType"] = .string(media.type) }
      return .object(properties)
    }
    for (property, value) in properties {
      if case .array = value { properties[property] = .object(["results": value]) }
    }
    var metadata: [String: JSONValue] = ["uri": .string(uri), "etag": .string(entity.etag), "type": .string("S.T")]
    if let media = entity.media {
      metadata["media_src"] = .string(uri + "/$value")
      metadata["content_type"] = .string(media.type)
    }
    properties["__metadata"] = .object(metadata)
    return .object(properties)
  }
}
