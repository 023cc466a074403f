import MartletSemantics
import Synchronization

/// The body of a response that is written to the store while it is read.
///
/// It is stored only if it is complete. If the reader stops early, if the body fails or differs from its announced
/// length, or if the store fails or does not accept it, nothing is stored. The reader then continues as without a
/// cache. It waits a moment for the store to complete the entry, so that a later request finds it; a store that takes
/// longer completes it after the reader has the whole body.
final class StoringBody: FinishableBody, DeadlineAware {
  private let base: any BodySource
  private let length: Int64?
  private let id: CacheEntry.ID
  private let transaction: CacheTransaction
  private let clock: any Clock<Duration>
  /// Whether storing needs no wait.
  private let storesAtOnce: Bool
  let endsAtDeadline: Bool
  private let state: Mutex<State>

  private struct State {
    /// nil while the reader's task writes, and after the end. A writer that is deallocated is aborted.
    var writer: (any CacheWriter)?
    var count: Int64 = 0
    /// Whether the body is complete, so that nothing the reader does ends its storing.
    var isComplete = false
  }

  /// How long a reader waits for a store to complete an entry.
  private static let commitLimit = Duration.seconds(1)

  private var cache: HTTPCache { transaction.cache }

  /// Makes the body.
  ///
  /// - Parameters:
  ///   - body: the body as it is received.
  ///   - entry: the entry to write.
  ///   - writer: the writer of the entry.
  ///   - transaction: the request, which finishes when the body is stored or known not to be.
  ///   - clock: measures how long the reader waits.
  init(
    _ body: ResponseBody, of entry: CacheEntry, to writer: any CacheWriter, for transaction: CacheTransaction,
    on clock: any Clock<Duration>
  ) {
    self.clock = clock
    base = body.source
    length = body.length
    id = entry.id
    self.transaction = transaction
    let decide = transaction.request.options.storageDecision
    storesAtOnce = decide == nil && Deadline.isKept(by: transaction.cache.store)
    endsAtDeadline = storesAtOnce && Deadline.isKept(by: body.source)
    let writer = decide.map { DecidingWriter(entry, for: transaction, around: writer, $0) } ?? writer
    state = Mutex(State(writer: writer))
  }

  func next() async throws -> Data? {
    let chunk: Data?
    do { chunk = try await base.next() } catch {
      endUnlessComplete(HTTPError(wrapping: error).isCancellationOrDeadline ? .abandoned : .unshared)
      throw error
    }
    guard let (writer, count) = takeWriter(adding: Int64(chunk?.count ?? 0)) else { return chunk }
    if count > transaction.bodyLimit { transaction.releaseJoined(.unshared) }  // The reader stops here.
    let isWritten: Void? = await cache.attempt(in: transaction.call) {
      if let chunk { try await writer.append(chunk) }
    }
    if isWritten == nil {
      end(.unshared)
    } else if chunk == nil || count == length {  // A reader that has all bytes may not ask for the end.
      await complete(writer, count: count)
    } else {
      state.withLock { if !transaction.isFinished { $0.writer = writer } }
    }
    return chunk
  }

  /// Completes the entry. If the store takes long, it goes on after this returns.
  @inline(never)  // Its variables would take space in the frame of `next`, which waits for the network.
  private func complete(_ writer: any CacheWriter, count: Int64) async {
    state.withLock { $0.isComplete = true }
    if storesAtOnce { return await finish(writer, count: count) }
    let task = Task { await finish(writer, count: count) }
    _ = try? await Deadline(Self.commitLimit, on: clock).limiting { await task.value }
  }

  private func finish(_ writer: any CacheWriter, count: Int64) async {
    end(await cache.attempt(in: transaction.call) { try await self.commit(writer, count: count) } ?? .unshared)
  }

  /// Completes the entry, unless the body's length differs from the announced one, or the response was removed from the
  /// cache while it was received.
  private func commit(_ writer: any CacheWriter, count: Int64) async throws -> CacheTransaction.Ending {
    guard length == nil || count == length, transaction.isRegistered else {
      await writer.abort()
      return .unshared
    }
    try await writer.commit()
    guard transaction.isRegistered else {
      try await cache.store.remove(.entry(id))  // It was removed while the store committed it.
      return .unshared
    }
    cache.count { $0.stored += 1 }
    return .stored
  }

  /// Reads the rest so that it is stored, unless it is too long or takes too long.
  func readRest(upTo limit: Int, within time: Duration, on clock: any Clock<Duration>) async {
    guard length ?? 0 <= limit, state.withLock({ $0.writer != nil }) else { return }
    _ = try? await Deadline(time, on: clock).limiting { [self] in
      var count = 0
      while count <= limit, let chunk = try await next() { count += chunk.count }
    }
  }

  func cancel() {
    endUnlessComplete(.abandoned)  // first: a source that is cancelled while it is read may end as if it were complete
    base.cancel()
  }

  var trailers: HTTPFields { base.trailers }

  var hasNoRest: Bool { base.isKnownToHaveNoRest }

  private func takeWriter(adding count: Int64) -> (writer: any CacheWriter, count: Int64)? {
    state.withLock { state in
      state.count += count
      return state.writer.take().map { ($0, state.count) }
    }
  }

  private func endUnlessComplete(_ ending: CacheTransaction.Ending) {
    if !state.withLock({ $0.isComplete }) { end(ending) }
  }

  /// Finishes the request, and releases the writer unless it is in use.
  private func end(_ ending: CacheTransaction.Ending) {
    transaction.finish(ending)
    _ = state.withLock { $0.writer.take() }
  }
}

/// The type of ``RequestOptions/storageDecision``.
private typealias StorageDecision = @Sendable (HTTPResponse) async throws -> HTTPResponse?

/// A writer that passes the complete response to the request's ``RequestOptions/storageDecision`` before storing it. It
/// stores the returned response, or throws a ``CacheEntry/Refusal``. The body is in memory until then.
private final class DecidingWriter: CacheWriter {
  private let entry: CacheEntry
  private let base: any CacheWriter
  private let url: URL
  private let call: Call
  private let store: any CacheStore
  private let decide: StorageDecision
  private let bytes = Mutex(Data())

  init(
    _ entry: CacheEntry, for transaction: CacheTransaction, around base: any CacheWriter,
    _ decide: @escaping StorageDecision
  ) {
    self.entry = entry
    self.base = base
    url = transaction.request.url
    call = transaction.call
    store = transaction.cache.store
    self.decide = decide
  }

  func append(_ chunk: Data) async throws {
    try await base.append(chunk)
    bytes.withLock { $0.append(chunk) }
  }

  func commit() async throws {
    let bytes = bytes.withLock { $0 }
    let head = entry.response.head
    var response = HTTPResponse(body: ResponseBody(bytes), url: url)
    response.head = head
    guard let decided = try? await call.context.perform({ try await decide(response) }),
      let body = try? await decided.body.collect(upTo: .max)
    else {
      await base.abort()
      throw CacheEntry.Refusal("the request's decision is not to store the response")
    }
    guard decided.head != head || body != bytes else { return try await base.commit() }
    await base.abort()
    var changed = CacheEntry(id: entry.id, key: entry.key, response: entry.response, length: Int64(body.count))
    changed.response.head = decided.head
    guard let writer = try await store.begin(changed) else {
      throw CacheEntry.Refusal("the store does not accept the response that the request's decision returned")
    }
    try await writer.append(body)
    try await writer.commit()
  }

  func abort() async {
    bytes.withLock { $0 = Data() }
    await base.abort()
  }
}

/// The body of a stored response. The first bytes are read when it is opened, so that the request can be sent instead
/// if the store fails at once. If the store fails later, reading throws and the entry is removed.
final class StoredBody: BodySource, DeadlineAware {
  private let base: any BodySource
  private let first: Mutex<Data?>
  private let length: Int
  private let id: CacheEntry.ID
  private let cache: HTTPCache
  private let call: Call

  /// Opens the body of an entry; nil if the store no longer has it or cannot read it.
  static func open(
    _ id: CacheEntry.ID, range: Range<Int64>, of cache: HTTPCache, in call: Call
  ) async -> StoredBody? {
    await cache.attempt(in: call) {
      guard let source = try await cache.store.open(id, range: range) else { return nil }
      let first = try await source.next()
      guard first != nil || range.isEmpty else { return nil }
      return StoredBody(source, first: first, length: range.count, of: id, in: cache, call)
    }
  }

  private init(
    _ base: any BodySource, first: Data?, length: Int, of id: CacheEntry.ID, in cache: HTTPCache, _ call: Call
  ) {
    self.base = base
    self.length = length
    self.first = Mutex(first)
    self.id = id
    self.cache = cache
    self.call = call
  }

  func next() async throws -> Data? {
    if let chunk = first.withLock({ $0.take() }) { return chunk }
    do { return try await base.next() } catch {
      if Task.isCancelled { throw error }
      cache.count { $0.storeFailures += 1 }
      await cache.attempt(in: call) { try await cache.store.remove(.entry(id)) }
      throw HTTPError(
        .other,
        "the stored body could not be read completely; its entry has been removed, so that a new request is sent to "
          + "the origin", phase: .receiving, underlying: error)
    }
  }

  var endsAtDeadline: Bool { Deadline.isKept(by: base) }

  /// Returns the whole body if it was read when it was opened and the reader has taken none of it.
  func takeReceived() -> Data? {
    first.withLock { first in
      guard first?.count ?? 0 == length else { return nil }
      return first.take() ?? Data()
    }
  }

  func cancel() { base.cancel() }
}

extension HTTPResponse {
  /// Whether the transport has decoded the body and therefore removed `Content-Encoding`.
  var isDecoded: Bool {
    networkHead.map { $0.fields[.contentEncoding] != fields[.contentEncoding] } ?? false
  }
}
