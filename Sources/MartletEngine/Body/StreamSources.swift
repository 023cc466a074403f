import MartletSemantics
import Synchronization

/// Pulls from any asynchronous sequence of `Data`.
final class SequenceSource<Chunks: AsyncSequence & Sendable>: BodySource where Chunks.Element == Data {
  /// An iterator is not Sendable. SAFETY: a `BodySource` has one reader, which waits for `next` before it calls again.
  nonisolated(unsafe) private var iterator: Chunks.AsyncIterator

  init(_ chunks: Chunks) { iterator = chunks.makeAsyncIterator() }

  func next() async throws -> Data? {
    while let chunk = try await iterator.next() {
      if !chunk.isEmpty { return chunk }
    }
    return nil
  }
}

/// Holds the one stream that there is, until an attempt asks for its first bytes.
final class SingleUse: Sendable {
  private let source: any BodySource
  private let wasTaken = Atomic(false)

  init(_ source: any BodySource) { self.source = source }

  var isTaken: Bool { wasTaken.load(ordering: .relaxed) }

  func take() throws(HTTPError) -> any BodySource {
    guard !wasTaken.exchange(true, ordering: .relaxed) else { throw .bodyNotReplayable }
    return source
  }
}

/// An attempt's reading of a stream that is there only once. Nothing is taken before it is asked for: an attempt that never
/// comes to its body leaves the stream to the next.
final class OnlyReading: BodySource {
  private let once: SingleUse
  private let taken = Mutex<(any BodySource)?>(nil)

  init(of once: SingleUse) { self.once = once }

  func next() async throws -> Data? {
    let source = try taken.withLock { taken in
      let source = try taken ?? once.take()
      taken = source
      return source
    }
    return try await source.next()
  }

  func cancel() { taken.withLock { $0 }?.cancel() }
}

extension HTTPError {
  static var bodyNotReplayable: HTTPError {
    HTTPError(
      .bodyNotReplayable,
      "the request has to be sent again, but its body is a stream that was there only once: use RequestBody.stream",
      phase: .preparing)
  }
}

/// Holds a stream to the length that was promised for it, which is already in the message's head.
final class CountedSource: BodySource {
  private let base: any BodySource
  private let promised: Int64?
  private let count = Mutex<Int64>(0)

  init(_ base: any BodySource, promised: Int64?) {
    self.base = base
    self.promised = promised
  }

  func next() async throws -> Data? {
    let chunk = try await base.next()
    guard let promised else { return chunk }
    let sum = count.withLock { sum in
      sum += Int64(chunk?.count ?? 0)
      return sum
    }
    guard sum <= promised, chunk != nil || sum == promised else {
      throw HTTPError(
        .invalidRequest,
        "the request's body promised \(promised) bytes and gave \(chunk == nil ? "only" : "at least") \(sum)",
        phase: .sending)
    }
    return chunk
  }

  func cancel() { base.cancel() }
}
