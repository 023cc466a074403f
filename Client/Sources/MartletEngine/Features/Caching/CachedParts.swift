import MartletSemantics
import Synchronization

// Responses that are combined with a stored part of the same representation (RFC 9111 §3.4).
extension CachingTransport {
  /// Returns a partial response whose body is stored, together with the stored part, while it is read.
  ///
  /// - Parameter joined: the entry to store.
  func extend(
    _ entry: CacheEntry, by response: HTTPResponse, to joined: StoredResponse, for transaction: CacheTransaction
  ) async -> HTTPResponse {
    let part = await cache.attempt(in: transaction.call) {
      try await PartOfBody(entry, around: response.head, to: joined, in: cache)
    }
    guard let part else { return pass(response, for: transaction, as: .unshared) }
    return await store(response, as: joined, for: transaction, with: part)
  }

  /// Returns the stored part and the rest in the response as one response. If the part cannot be read, the whole is
  /// requested again.
  func complete(
    _ entry: CacheEntry, by response: HTTPResponse, to whole: StoredResponse, isStored: Bool,
    for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    guard let part = entry.response.part,
      let known = await StoredBody.open(entry.id, range: 0..<Int64(part.range.count), of: cache, in: transaction.call)
    else { return try await fetchAgain(insteadOf: response, for: transaction) }
    let missing = part.size - Int64(part.range.count)
    let rest = ExactLengthSource(response.body.source, length: missing) { found in
      let message = "the body of the part has \(found), but its Content-Range says \(missing)"
      return HTTPError(.protocolViolation, message, phase: .receiving)
    }
    var combined = response
    combined.head = whole.head
    combined.body = ResponseBody(
      length: part.size,
      from: JoinedBody(part.range.lowerBound == 0 ? [known, rest] : [rest, known], trailersOf: rest))
    guard isStored, transaction.mayStore(combined) else { return pass(combined, for: transaction, as: .unshared) }
    return await store(combined, as: whole, for: transaction, with: PartOfBody(replacing: entry, length: part.size))
  }
}

extension HTTPResponse {
  /// The body with its expected length: a part's length is in its `Content-Range`, too.
  var expectedBody: ResponseBody {
    guard body.length == nil, status == .partialContent,
      let bytes = fields[.contentRange].flatMap({ ContentRange($0)?.bytes })
    else { return body }
    return ResponseBody(length: Int64(bytes.count), from: body.source)
  }
}

/// The stored part of a body whose other parts are being received.
struct PartOfBody {
  /// The number of bytes of all parts.
  let length: Int64
  private let entry: CacheEntry
  private let before: (any BodySource)?
  private let after: (any BodySource)?

  /// Opens the bytes of an entry that are stored with the bytes of a response.
  ///
  /// - Throws: the store's error, or an error if the store no longer has the entry.
  init?(
    _ entry: CacheEntry, around head: ResponseHead, to joined: StoredResponse, in cache: HTTPCache
  ) async throws {
    guard let known = entry.response.part, let new = StoredPart(of: head, receivedAt: joined.responseTime)?.range,
      let length = joined.head.fields[.contentLength].flatMap(Int64.init)
    else { return nil }
    let offset = known.range.lowerBound
    func open(_ range: Range<Int64>) async throws -> (any BodySource)? {
      try await cache.store.open(entry.id, range: range.lowerBound - offset..<range.upperBound - offset)
    }
    let isBefore = offset < new.lowerBound
    let isAfter = new.upperBound < known.range.upperBound
    before = try await isBefore ? open(offset..<new.lowerBound) : nil
    after = try await isAfter ? open(new.upperBound..<known.range.upperBound) : nil
    guard isBefore == (before != nil), isAfter == (after != nil) else { return nil }
    self.entry = entry
    self.length = length
  }

  /// Uses no part: the body to store already contains it.
  init(replacing entry: CacheEntry, length: Int64) {
    self.entry = entry
    self.length = length
    (before, after) = (nil, nil)
  }

  /// Returns a writer that adds the stored bytes; nil without a writer.
  func writer(around base: (any CacheWriter)?, of new: CacheEntry, in store: any CacheStore) -> (any CacheWriter)? {
    base.map { base in
      let outdated = new.response.variant == entry.response.variant ? nil : entry.id
      return JoiningWriter(base, before: before, after: after, removing: outdated, from: store)
    }
  }
}

/// A writer that adds stored bytes before and after the written ones. It removes the old entry if the new one does not
/// replace it.
private final class JoiningWriter: CacheWriter {
  private let base: any CacheWriter
  private let before: Mutex<(any BodySource)?>
  private let after: (any BodySource)?
  private let outdated: CacheEntry.ID?
  private let store: any CacheStore

  init(
    _ base: any CacheWriter, before: (any BodySource)?, after: (any BodySource)?, removing outdated: CacheEntry.ID?,
    from store: any CacheStore
  ) {
    self.base = base
    self.before = Mutex(before)
    self.after = after
    self.outdated = outdated
    self.store = store
  }

  func append(_ chunk: Data) async throws {
    try await copy(before.withLock { $0.take() })
    try await base.append(chunk)
  }

  func commit() async throws {
    try await copy(before.withLock { $0.take() })
    try await copy(after)
    try await base.commit()
    if let outdated { try await store.remove(.entry(outdated)) }
  }

  func abort() async { await base.abort() }

  deinit {
    before.withLock { $0.take() }?.cancel()
    after?.cancel()
  }

  private func copy(_ source: (any BodySource)?) async throws {
    guard let source else { return }
    while let chunk = try await source.next() { try await base.append(chunk) }
  }
}

/// A sequence of bodies.
private final class JoinedBody: BodySource, DeadlineAware {
  private let pieces: [any BodySource]
  private let last: any BodySource
  private let index = Mutex(0)

  init(_ pieces: [any BodySource], trailersOf last: any BodySource) {
    self.pieces = pieces
    self.last = last
  }

  func next() async throws -> Data? {
    while let piece = current {
      if let chunk = try await piece.next() { return chunk }
      index.withLock { $0 += 1 }
    }
    return nil
  }

  private var current: (any BodySource)? { index.withLock { $0 < pieces.count ? pieces[$0] : nil } }

  func cancel() { for piece in pieces { piece.cancel() } }
  var trailers: HTTPFields { last.trailers }
  var endsAtDeadline: Bool { pieces.allSatisfy { Deadline.isKept(by: $0) } }
}
