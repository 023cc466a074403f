import MartletSemantics
import Synchronization

/// Pulls from any asynchronous sequence of `Data`. There is one reader, so the iterator is lent to it and put back.
final class SequenceSource<Chunks: AsyncSequence & Sendable>: BodySource where Chunks.Element == Data {
  private let chunks: Chunks
  private let iterator = Mutex<Loan?>(nil)

  /// An iterator is not Sendable; it is only ever in one hand: this box's or the reader's.
  private struct Loan: @unchecked Sendable {  // SAFETY: the one reader of a BodySource takes it out and puts it back.
    var iterator: Chunks.AsyncIterator
  }

  init(_ chunks: Chunks) { self.chunks = chunks }

  func next() async throws -> Data? {
    var loan = iterator.withLock { $0.take() } ?? Loan(iterator: chunks.makeAsyncIterator())
    while let chunk = try await loan.iterator.next() {
      if chunk.isEmpty { continue }
      let back = loan
      iterator.withLock { $0 = back }
      return chunk
    }
    return nil
  }
}

/// Holds the one stream that there is, until an attempt takes it.
package final class SingleUse: Sendable {
  private let source: Mutex<(any BodySource)?>

  init(_ source: any BodySource) { self.source = Mutex(source) }

  func take() throws(HTTPError) -> any BodySource {
    guard let source = source.withLock({ $0.take() }) else {
      throw HTTPError(
        .bodyNotReplayable,
        "the request has to be sent again, but its body is a stream that was there only once: use RequestBody.stream",
        phase: .preparing)
    }
    return source
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
