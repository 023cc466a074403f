import MartletSemantics
import Synchronization

/// A source that decodes one content coding of another source.
///
/// Chunks have at most 128 KiB, and coded bytes are pulled only when they are needed, so a slow reader slows the sender
/// down at any compression ratio. The body ends when both the coded data *and* the underlying source have ended, so
/// damage in either is an error.
final class DecodedBody: BodyLayer {
  let base: any BodySource
  private let state: Mutex<State>
  private let wording: Wording

  /// The names in error messages, and the receiver of notes.
  struct Wording: Sendable {
    /// The coding.
    let coding: String
    /// The sender's host and port.
    let peer: String
    /// Takes notes for listeners.
    let note: @Sendable (String) -> Void

    func error(_ what: String) -> HTTPError {
      HTTPError(.undecodableBody, "\(peer): the \(coding) body \(what)", phase: .receiving)
    }
  }

  /// - Parameters:
  ///   - isFramed: whether the message's framing ends the body, so that it is not cut off. Without any bytes it is then
  ///     an empty body, and a final byte that could begin another member is ignored like other surplus bytes.
  ///   - chunks: has the memory for the decoded bytes.
  init(
    _ base: any BodySource, decoder: sending any ContentDecoder, wording: Wording, isFramed: Bool,
    chunks: ChunkPool = .shared
  ) {
    self.base = base
    self.wording = wording
    state = Mutex(State(decoder: decoder, isFramed: isFramed, chunks: chunks))
  }

  func next() async throws -> Data? {
    do {
      while true {
        if let data = try state.withLock({ try $0.decode(wording) }) { return data }
        guard let chunk = try await base.next() else { break }
        state.withLock { $0.add(chunk) }
      }
    } catch {
      base.cancel()
      throw error
    }
    let surplus = try state.withLock { try $0.finish(wording) }
    if surplus > 0 { wording.note("\(surplus) bytes after the end of the \(wording.coding) body were ignored") }
    return nil
  }
}

extension DecodedBody {
  /// Whether the coded bytes have ended, none of them is left, and none is missing.
  var hasNoRest: Bool { state.withLock { $0.mayEnd } && base.isKnownToHaveNoRest }

  /// The state between two calls of `next`.
  private struct State {
    enum Position {
      /// Before the coded data, which may be missing.
      case before
      case within
      case behind
    }

    let decoder: any ContentDecoder
    private let isFramed: Bool
    private var position: Position
    /// The coded bytes that are not decoded yet.
    private var input = Data()
    /// Whether the last step filled its output, so that there may be more output without more input.
    private var mayHoldMore = false
    /// The number of bytes after the coded data.
    private var surplus = 0
    /// The number of coded bytes since the last decoded one. No other limit counts empty members, blocks and frames.
    private var unproductive = 0
    private let chunks: ChunkPool

    private static let unproductiveLimit = 1 << 20
    private static let surplusLimit = 64 << 10

    init(decoder: any ContentDecoder, isFramed: Bool, chunks: ChunkPool) {
      self.decoder = decoder
      self.chunks = chunks
      self.isFramed = isFramed
      position = isFramed ? .before : .within
    }

    /// Adds coded bytes. Earlier ones are used up, except the first bytes of a possible further member.
    mutating func add(_ chunk: Data) { input = input.isEmpty ? chunk : input + chunk }

    /// Returns the next decoded bytes; nil if more input is needed.
    mutating func decode(_ wording: Wording) throws -> Data? {
      guard mayHoldMore || !input.isEmpty else { return nil }
      guard let chunk = Chunk(of: chunks) else { throw wording.error("cannot be decoded: there is no memory") }
      while mayHoldMore || !input.isEmpty {
        if position == .behind {
          guard let entersNext else { return nil }
          if !entersNext {
            surplus += input.count
            input = Data()
            guard surplus <= Self.surplusLimit else { throw wording.error("is followed by too many other bytes") }
            return nil
          }
        }
        position = .within
        let step = try run(into: chunk.room, wording)
        input = input.dropFirst(step.consumed)
        mayHoldMore = step.produced == chunk.room.count && !step.isAtEnd
        if step.isAtEnd { position = .behind }
        if step.produced > 0 {
          unproductive = 0
          return chunk.data(step.produced)
        }
        unproductive += step.consumed
        guard unproductive <= Self.unproductiveLimit else {
          throw wording.error("has too many coded bytes without content")
        }
        guard step.consumed > 0 || step.isAtEnd || input.isEmpty else { throw wording.error("cannot be decoded") }
      }
      return nil
    }

    /// Whether the bytes after the end of the coded data begin more of them; nil if there are too few to know.
    private var entersNext: Bool? { surplus == 0 ? decoder.restarts(at: input) : false }

    private func run(into output: UnsafeMutableRawBufferPointer, _ wording: Wording) throws -> DecodingStep {
      do {
        return try input.withUnsafeBytes { try decoder.decode($0, into: output) }
      } catch let failure as DecodingFailure {
        throw wording.error("cannot be decoded: \(failure.reason)")
      }
    }

    /// Whether the coded data is complete, or missing as a whole, and all of it was decoded.
    var mayEnd: Bool { position != .within && input.isEmpty && !mayHoldMore }

    /// Ends the decoding when the underlying source has ended. Returns, once, the number of bytes after the coded data.
    mutating func finish(_ wording: Wording) throws -> Int {
      guard position != .within, isFramed || input.isEmpty else { throw wording.error("is truncated") }
      defer { (surplus, input) = (0, Data()) }
      return surplus + input.count
    }
  }
}

/// A source that counts its bytes.
final class CountedBody: BodyLayer {
  let base: any BodySource
  private let total = Atomic(0)

  init(_ base: any BodySource) { self.base = base }

  /// The number of bytes so far.
  var count: Int { total.load(ordering: .relaxed) }

  func next() async throws -> Data? {
    let chunk = try await base.next()
    total.add(chunk?.count ?? 0, ordering: .relaxed)
    return chunk
  }
}

/// A source that limits the ratio of decoded to coded bytes: ``RequestOptions/decompressionRatioLimit``.
final class RatioLimitedBody: BodyLayer {
  let base: any BodySource
  private let coded: CountedBody
  private let limit: Int
  private let peer: String
  private let total = Atomic(0)
  /// The ratio is not limited up to this number of decoded bytes.
  private static let unlimitedSize = 10 << 20

  /// - Parameter coded: the coded source.
  init(_ base: any BodySource, of coded: CountedBody, limit: Int, peer: String) {
    self.base = base
    self.coded = coded
    self.limit = limit
    self.peer = peer
  }

  func next() async throws -> Data? {
    guard let chunk = try await base.next() else { return nil }
    let count = total.add(chunk.count, ordering: .relaxed).newValue
    guard count <= Self.unlimitedSize || count / max(1, coded.count) <= limit else {
      base.cancel()
      throw HTTPError(
        .bodyTooLarge,
        "\(peer): \(coded.count) coded bytes became more than \(count) decoded bytes, over \(limit) times as many: "
          + "raise decompressionRatioLimit if that is expected",
        phase: .receiving)
    }
    return chunk
  }
}
