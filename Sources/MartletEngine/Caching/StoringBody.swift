import MartletSemantics
import Synchronization

/// A response's body on its way to its reader, that is written to the store as it passes.
///
/// It is stored only if it is whole. A reader that stops early, an error, a length that is not the announced one, a store
/// that fails: the entry is given up, and the reader goes on as without a cache.
final class StoringBody: BodySource {
  private let base: any BodySource
  private let length: Int64?
  private let cache: HTTPCache
  private let id: CacheEntry.ID
  private let errand: Errand
  private let state: Mutex<State>

  private struct State {
    enum Writing {
      case idle(any CacheWriter)
      /// The reader's task has the writer.
      case busy
      case over
    }
    var writing: Writing
    var count: Int64 = 0
  }

  /// Who the body is for, and who else waits for it.
  struct Errand: Sendable {
    let exchange: Exchange
    let ticket: UInt64
    let flight: CacheFlights.Flight?
  }

  init(
    _ body: ResponseBody, of id: CacheEntry.ID, to writer: any CacheWriter, in cache: HTTPCache, for errand: Errand
  ) {
    base = body.source
    length = body.length
    self.id = id
    self.cache = cache
    self.errand = errand
    state = Mutex(State(writing: .idle(writer)))
  }

  func next() async throws -> Data? {
    let chunk: Data?
    do { chunk = try await base.next() } catch {
      over(HTTPError(wrapping: error).isCancelled ? .abandoned : .released)
      throw error
    }
    guard let writer = takeWriter() else { return chunk }
    let count = state.withLock { state in
      state.count += Int64(chunk?.count ?? 0)
      return state.count
    }
    let isStored = await cache.attempt(in: errand.exchange) {
      if let chunk { try await writer.append(chunk) }
      // The last byte is enough where it is known to be the last: not every reader asks for the end.
      guard chunk == nil || count == length else { return false }
      return try await self.commit(writer, count: count)
    }
    switch isStored {
    case false?: giveBack(writer)
    case true?: over(.stored)
    case nil: over(.released)
    }
    return chunk
  }

  /// - Throws: what the store throws, or where the body is not what was announced, or its key was removed meanwhile.
  private func commit(_ writer: any CacheWriter, count: Int64) async throws -> Bool {
    guard length == nil || count == length, cache.writes.isValid(errand.ticket) else {
      await writer.abort()
      over(.released)
      return true
    }
    try await writer.commit()
    guard cache.writes.isValid(errand.ticket) else {
      try await cache.store.remove(.entry(id))  // The removal came while the store was writing.
      return true
    }
    cache.count { $0.stored += 1 }
    return true
  }

  /// Reads the body to its end, so that it is stored, unless it is larger or does not come in time.
  func readRest(upTo limit: Int, within time: Duration, on clock: any Clock<Duration>) async {
    let isWriting = state.withLock { if case .idle = $0.writing { true } else { false } }
    guard isWriting, length ?? 0 <= limit else { return }
    _ = try? await Deadline(time, on: clock).holding { [self] in
      var count = 0
      while count <= limit, let chunk = try await next() { count += chunk.count }
    }
  }

  func cancel() {
    base.cancel()
    over(.abandoned)
  }

  var trailers: HTTPFields { base.trailers }

  deinit { over(.abandoned) }

  private func takeWriter() -> (any CacheWriter)? {
    state.withLock { state in
      guard case .idle(let writer) = state.writing else { return nil }
      state.writing = .busy
      return writer
    }
  }

  private func giveBack(_ writer: any CacheWriter) {
    state.withLock { state in
      if case .busy = state.writing { state.writing = .idle(writer) }
    }
  }

  /// Lets go of the writer, which aborts what was not committed: now, or when the reader's task is done with it.
  private func over(_ end: CacheFlights.End) {
    let isFirst = state.withLock { state in
      if case .over = state.writing { return false }
      state.writing = .over
      return true
    }
    guard isFirst else { return }
    cache.writes.end(errand.ticket)
    errand.flight?.end(end)
  }
}
