import MartletSemantics
import Synchronization

/// Lets a request's ``RequestOptions/storageDecision`` see the whole answer before it can be found in the store, and store
/// another in its place, or nothing. Only for requests that have one: the body is kept in memory until then.
final class DecidedWriter: CacheWriter {
  private let entry: CacheEntry
  private let url: URL
  private let base: any CacheWriter
  private let store: any CacheStore
  private let decide: StorageDecision
  private let bytes = Mutex(Data())

  init(
    _ entry: CacheEntry, at url: URL, over base: any CacheWriter, of store: any CacheStore,
    _ decide: @escaping StorageDecision
  ) {
    self.entry = entry
    self.url = url
    self.base = base
    self.store = store
    self.decide = decide
  }

  func append(_ chunk: Data) async throws {
    try await base.append(chunk)
    bytes.withLock { $0.append(chunk) }
  }

  func commit() async throws {
    let bytes = bytes.withLock { $0 }
    let head = entry.response.head
    var answer = HTTPResponse(status: head.status, fields: head.fields, body: ResponseBody(bytes), url: url)
    answer.head = head
    guard let decided = try? await decide(answer) else { return await base.abort() }
    let body = try await decided.body.collect(upTo: .max)
    guard decided.head != head || body != bytes else { return try await base.commit() }
    await base.abort()
    var changed = CacheEntry(id: entry.id, key: entry.key, response: entry.response, length: Int64(body.count))
    changed.response.head = decided.head
    guard let writer = try await store.begin(changed) else { return }
    try await writer.append(body)
    try await writer.commit()
  }

  func abort() async {
    bytes.withLock { $0 = Data() }
    await base.abort()
  }
}

extension CachingTransport {
  /// The writer, behind the request's decision where it has one.
  func deciding(_ writer: any CacheWriter, on entry: CacheEntry, for request: HTTPRequest) -> any CacheWriter {
    guard let decide = request.options.storageDecision else { return writer }
    return DecidedWriter(entry, at: request.url, over: writer, of: cache.store, decide)
  }
}
