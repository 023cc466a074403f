import MartletTasks

/// The conditions that a request must meet to be answered by a mock.
struct MockKey: Sendable, Hashable {
  let path: String
  let method: HTTPMethod?
  let query: [String: String]
  let body: String?

  init(path: String, method: HTTPMethod? = nil, query: [String: String] = [:], body: String? = nil) {
    (self.path, self.method, self.query, self.body) = (path, method, query, body)
  }

  func matches(_ request: SentRequest) -> Bool {
    let url = request.request.url
    let paths = [url.path(percentEncoded: false), url.path(percentEncoded: true)]
    guard path.isEmpty || paths.contains(where: { $0.contains(path) }) else { return false }
    guard method == nil || method == request.request.method else { return false }
    guard body.map({ String(decoding: request.body, as: UTF8.self).contains($0) }) ?? true else { return false }
    let pairs = PercentEncoding.queryComponent.pairs(in: url.query(percentEncoded: true) ?? "")
    return query.allSatisfy { wanted in pairs.contains { $0.name == wanted.key && $0.value == wanted.value } }
  }

  /// Whether the key takes precedence over another: first by the length of the path, then by the number of conditions.
  func isMoreSpecific(than other: MockKey) -> Bool {
    (path.utf8.count, conditions) > (other.path.utf8.count, other.conditions)
  }

  private var conditions: Int { (method == nil ? 0 : 1) + query.count + (body == nil ? 0 : 1) }
}

extension MockKey: CustomStringConvertible {
  var description: String {
    let query = query.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
    let parts = [
      method?.rawValue, "'\(path)'", query.isEmpty ? nil : "?" + query, body.map { "with '\($0)' in the body" },
    ]
    return parts.compactMap(\.self).joined(separator: " ")
  }
}

/// The responders and the requests of a mock session, as a value.
struct MockTable: Sendable {
  private var entries: [(key: MockKey, responder: MockResponder, count: Int)] = []
  private(set) var requests: [SentRequest] = []

  subscript(key: MockKey) -> MockResponder? {
    get { entries.first { $0.key == key }?.responder }
    set {
      entries.removeAll { $0.key == key }
      if let newValue { entries.append((key, newValue, 0)) }
    }
  }

  /// The responders whose only condition is a part of the path.
  var byPath: [String: MockResponder] {
    get {
      let plain = entries.filter { $0.key == MockKey(path: $0.key.path) }
      return Dictionary(uniqueKeysWithValues: plain.map { ($0.key.path, $0.responder) })
    }
    set {
      let old = byPath
      for path in old.keys where newValue[path] == nil { self[MockKey(path: path)] = nil }
      for (path, responder) in newValue.sorted(by: { $0.key < $1.key }) where old[path]?.identity !== responder.identity
      {
        self[MockKey(path: path)] = responder
      }
    }
  }

  var unused: [String] { entries.filter { $0.count == 0 }.map { "\($0.key)" } }

  /// Records the request and finds its responder: the most specific one; of several, the one that was set last.
  mutating func answer(to request: SentRequest) throws(HTTPError) -> (MockResponder, earlier: Int) {
    requests.append(request)
    var best: Int?
    for index in entries.indices where entries[index].key.matches(request) {
      if let best, entries[best].key.isMoreSpecific(than: entries[index].key) { continue }
      best = index
    }
    guard let best else {
      let keys = entries.map { "\($0.key)" }.joined(separator: ", ")
      throw HTTPError(
        .file,
        "file not found: no mock for \(request.summary); "
          + (keys.isEmpty ? "there are no mocks" : "there are mocks for \(keys)"))
    }
    entries[best].count += 1
    return (entries[best].responder, entries[best].count - 1)
  }
}
