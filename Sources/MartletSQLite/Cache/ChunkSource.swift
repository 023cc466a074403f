import MartletEngine
import MartletSemantics
import Synchronization

/// Reads the body of an entry a chunk at a time.
final class ChunkSource: BodySource {
  private struct State {
    var rest: Range<Int64>
    /// Keeps the chunks while there is something to read.
    var pin: BodyPin?
  }

  private let file: CacheFile
  private let body: Int64
  private let length: Int64
  private let state: Mutex<State>

  init(_ body: Int64, length: Int64, range: Range<Int64>, pin: BodyPin, in file: CacheFile) {
    self.file = file
    self.body = body
    self.length = length
    state = Mutex(State(rest: range, pin: pin))
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    let (rest, isHeld) = state.withLock { ($0.rest, $0.pin != nil) }
    guard !rest.isEmpty else { return nil }
    guard isHeld else { throw CancellationError() }

    let size = Int64(CacheStatement.chunkSize)
    let index = rest.lowerBound / size
    let whole = index * size..<min((index + 1) * size, length)
    guard let chunk = try await file.read({ try $0.chunk(index, of: body) }), chunk.count == whole.count else {
      throw HTTPError(.file, "the body was removed from the cache while it was read: send the request again")
    }
    let part = rest.clamped(to: whole)
    advance(to: part.upperBound)
    return part == whole ? chunk : chunk.dropFirst(Int(part.lowerBound - whole.lowerBound)).prefix(part.count)
  }

  func cancel() { _ = takePin(ifAtEnd: false) }

  private func advance(to offset: Int64) {
    state.withLock { $0.rest = offset..<$0.rest.upperBound }
    _ = takePin(ifAtEnd: true)
  }

  /// Takes the pin out, so that it is let go of when no lock is held.
  private func takePin(ifAtEnd: Bool) -> BodyPin? {
    state.withLock { state in
      guard !ifAtEnd || state.rest.isEmpty else { return nil }
      return state.pin.take()
    }
  }
}
