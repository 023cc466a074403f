import MartletObservation
@_spi(Toolkit) import MartletSemantics

/// The rules of HAR 1.2 as tables, according to the specification: the required and the optional members of an object,
/// and their types. Members that begin with an underscore are custom and not checked.
struct HARFormat {
  /// Returns the errors in an archive, each with its place.
  static func problems(in json: Data) throws -> [String] {
    var format = HARFormat()
    format.check(try JSONDecoder().decode(Value.self, from: json), .object("document"), at: "")
    return format.problems
  }

  private var problems: [String] = []

  private indirect enum Kind: Sendable {
    case text
    case number
    /// A number of milliseconds or bytes, or -1 for unknown.
    case measure
    case flag
    case date
    case list(Kind)
    case object(String)
  }

  enum Value: Decodable {
    case null, flag, text(String), number(Double), list([Value]), object([String: Value])

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if value.decodeNil() {
        self = .null
      } else if (try? value.decode(Bool.self)) != nil {
        self = .flag
      } else if let number = try? value.decode(Double.self) {
        self = .number(number)
      } else if let text = try? value.decode(String.self) {
        self = .text(text)
      } else if let list = try? value.decode([Value].self) {
        self = .list(list)
      } else {
        self = .object(try value.decode([String: Value].self))
      }
    }
  }

  /// The members; a question mark marks an optional one.
  private static let objects: [String: [String: Kind]] = [
    "document": ["log": .object("log")],
    "log": [
      "version": .text, "creator": .object("creator"), "browser?": .object("creator"), "pages?": .list(.object("page")),
      "entries": .list(.object("entry")), "comment?": .text,
    ],
    "creator": ["name": .text, "version": .text, "comment?": .text],
    "page": [
      "startedDateTime": .date, "id": .text, "title": .text, "pageTimings": .object("pageTimings"), "comment?": .text,
    ],
    "pageTimings": ["onContentLoad?": .measure, "onLoad?": .measure, "comment?": .text],
    "entry": [
      "pageref?": .text, "startedDateTime": .date, "time": .number, "request": .object("request"),
      "response": .object("response"), "cache": .object("cache"), "timings": .object("timings"),
      "serverIPAddress?": .text, "connection?": .text, "comment?": .text,
    ],
    "request": [
      "method": .text, "url": .text, "httpVersion": .text, "cookies": .list(.object("cookie")),
      "headers": .list(.object("pair")), "queryString": .list(.object("pair")), "postData?": .object("postData"),
      "headersSize": .measure, "bodySize": .measure, "comment?": .text,
    ],
    "response": [
      "status": .number, "statusText": .text, "httpVersion": .text, "cookies": .list(.object("cookie")),
      "headers": .list(.object("pair")), "content": .object("content"), "redirectURL": .text, "headersSize": .measure,
      "bodySize": .measure, "comment?": .text,
    ],
    "cookie": [
      "name": .text, "value": .text, "path?": .text, "domain?": .text, "expires?": .date, "httpOnly?": .flag,
      "secure?": .flag, "comment?": .text,
    ],
    "pair": ["name": .text, "value": .text, "comment?": .text],
    "postData": ["mimeType": .text, "params?": .list(.object("param")), "text?": .text, "comment?": .text],
    "param": ["name": .text, "value?": .text, "fileName?": .text, "contentType?": .text, "comment?": .text],
    "content": [
      "size": .number, "compression?": .number, "mimeType": .text, "text?": .text, "encoding?": .text,
      "comment?": .text,
    ],
    "cache": ["beforeRequest?": .object("stored"), "afterRequest?": .object("stored"), "comment?": .text],
    "stored": ["expires?": .text, "lastAccess": .text, "eTag": .text, "hitCount": .number, "comment?": .text],
    "timings": [
      "blocked?": .measure, "dns?": .measure, "connect?": .measure, "send": .number, "wait": .number,
      "receive": .number, "ssl?": .measure, "comment?": .text,
    ],
  ]

  private mutating func check(_ value: Value, _ kind: Kind, at place: String) {
    switch (kind, value) {
    case (.text, .text), (.flag, .flag): break
    case (.number, .number(let number)) where number >= 0: break
    case (.measure, .number(let number)) where number >= 0 || number == -1: break
    case (.date, .text(let text)) where Timestamp.parse(text) != nil: break
    case (.list(let kind), .list(let values)):
      for (index, value) in values.enumerated() { check(value, kind, at: "\(place)[\(index)]") }
    case (.object(let name), .object(let members)): check(members, name, at: place)
    default: problems.append("\(place) is \(value), not \(kind)")
    }
  }

  private mutating func check(_ members: [String: Value], _ name: String, at place: String) {
    var rest = members
    for (key, kind) in Self.objects[name] ?? [:] {
      let member = key.hasSuffix("?") ? String(key.dropLast()) : key
      if let value = rest.removeValue(forKey: member) {
        check(value, kind, at: "\(place).\(member)")
      } else if member == key {
        problems.append("\(place).\(member) is missing")
      }
    }
    for key in rest.keys where !key.hasPrefix("_") { problems.append("\(place).\(key) is not in the format") }
    if name == "entry" { checkSum(members, at: place) }
    if case .object(let data)? = members["postData"], data["params"] != nil, data["text"] != nil {
      problems.append("\(place).postData has both params and text")
    }
  }

  /// Checks that the time is the sum of the known timings, without `ssl`, which is part of `connect`.
  private mutating func checkSum(_ entry: [String: Value], at place: String) {
    guard case .number(let time)? = entry["time"], case .object(let timings)? = entry["timings"] else { return }
    var sum = 0.0
    for (name, value) in timings where name != "ssl" { if case .number(let part) = value { sum += max(0, part) } }
    if abs(sum - time) > 0.001 { problems.append("\(place).time is \(time), and its timings make \(sum)") }
  }
}
