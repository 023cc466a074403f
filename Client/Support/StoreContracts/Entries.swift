import MartletEngine
import MartletSemantics

func key(_ path: String, partition: String = "") -> CacheKey {
  CacheKey(partition: partition, normalizedURL: "https://example.com" + path)
}

func entry(
  _ path: String, partition: String = "", variant: String = "", length: Int64? = nil,
  time: Date = Date(timeIntervalSince1970: 2_000)
) -> CacheEntry {
  let head = ResponseHead(status: 200, fields: ["Content-Type": "text/plain", "ETag": "\"x\""])
  let response = StoredResponse(head: head, variant: variant, requestTime: time, responseTime: time)
  return CacheEntry(key: key(path, partition: partition), response: response, length: length)
}

/// Returns bytes that depend on their position: each thousand has the next value.
func bytes(_ count: Int, _ first: UInt8 = 0) -> Data {
  var bytes = Data(capacity: count)
  var value = first
  while bytes.count < count {
    bytes.append(Data(repeating: value, count: min(1_000, count - bytes.count)))
    value &+= 1
  }
  return bytes
}

extension CacheStore {
  /// Stores an entry whose body is written in pieces, as from a network.
  func save(_ entry: CacheEntry, _ body: Data) async throws {
    guard let writer = try await begin(entry) else { throw NotWanted() }
    var rest = body
    while !rest.isEmpty {
      try await writer.append(rest.prefix(30_000))
      rest = rest.dropFirst(30_000)
    }
    try await writer.commit()
  }

  /// Returns the complete body of an entry; nil if it was removed.
  func read(_ entry: CacheEntry) async throws -> Data? {
    try await open(entry.id, range: 0..<(entry.length ?? 0))?.all()
  }
}

struct NotWanted: Error {}

extension BodySource {
  /// Returns the rest of the body.
  func all() async throws -> Data {
    var body = Data()
    while let chunk = try await next() { body.append(chunk) }
    return body
  }
}
