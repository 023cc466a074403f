import MartletSemantics
import Synchronization

/// A body with one content coding undone while it is read.
///
/// A chunk is at most 64 KiB, and the coded bytes are pulled only when more are needed for one, so that a slow reader
/// slows the sender down whatever the ratio is. The end is the end of the coded data *and* of the body beneath, so that
/// damage in either is an error.
final class DecodedBody: BodySource {
  private let base: any BodySource
  private let state: Mutex<State>
  private let wording: Wording
  private let note: @Sendable (String) -> Void

  /// What errors say.
  struct Wording: Sendable {
    /// The name of the coding.
    let coding: String
    /// Host and port of the sender.
    let peer: String

    func error(_ what: String) -> HTTPError {
      HTTPError(.undecodableBody, "\(peer): the \(coding) body \(what)", phase: .receiving)
    }
  }

  /// - Parameters:
  ///   - allowsNothing: Whether a body of no bytes is an empty one, and not one that ends too early.
  ///   - note: Takes what explains a decision, for listeners.
  init(
    _ base: any BodySource, decoder: sending any ContentDecoder, wording: Wording, allowsNothing: Bool,
    note: @escaping @Sendable (String) -> Void
  ) {
    self.base = base
    self.wording = wording
    self.note = note
    state = Mutex(State(decoder: decoder, position: allowsNothing ? .before : .within))
  }

  func next() async throws -> Data? {
    do {
      while true {
        if let data = try state.withLock({ try $0.decode(wording) }) { return data }
        guard let chunk = try await base.next() else { break }
        state.withLock { $0.input = chunk }
      }
    } catch {
      base.cancel()
      throw error
    }
    let surplus = try state.withLock { try $0.finish(wording) }
    if surplus > 0 { note("\(surplus) bytes behind the end of the \(wording.coding) body were left out") }
    return nil
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields { base.trailers }
}

extension DecodedBody {
  /// What is known between two pulls.
  private struct State {
    enum Position {
      /// Nothing came yet, and nothing need come.
      case before
      case within
      case behind
    }

    let decoder: any ContentDecoder
    var position: Position
    /// The coded bytes that are still to be read.
    var input = Data()
    /// Whether the last step filled its output, so that there may be more without more input.
    private var mayHoldMore = false
    /// The bytes behind the coded data.
    private var surplus = 0
    /// The coded bytes since the last decoded one: empty members, blocks and frames count against no other limit.
    private var barren = 0
    private var output: [UInt8] = []

    private static let barrenLimit = 1 << 20
    private static let chunkSize = 64 << 10
    private static let surplusLimit = 64 << 10

    init(decoder: any ContentDecoder, position: Position) {
      self.decoder = decoder
      self.position = position
    }

    /// The next bytes of the decoded body; nil where more input is needed.
    mutating func decode(_ wording: Wording) throws -> Data? {
      while mayHoldMore || !input.isEmpty {
        if position == .behind, !entersNext() {
          surplus += input.count
          input = Data()
          guard surplus <= Self.surplusLimit else { throw wording.error("is followed by too many other bytes") }
          return nil
        }
        position = .within
        if output.isEmpty { output = [UInt8](repeating: 0, count: Self.chunkSize) }
        let step = try run(wording)
        input = input.dropFirst(step.consumed)
        mayHoldMore = step.produced == output.count && !step.isAtEnd
        if step.isAtEnd { position = .behind }
        if step.produced > 0 {
          barren = 0
          return Data(output[..<step.produced])
        }
        barren += step.consumed
        guard barren <= Self.barrenLimit else { throw wording.error("goes on for too long without a byte of content") }
        guard step.consumed > 0 || step.isAtEnd || input.isEmpty else { throw wording.error("cannot be decoded") }
      }
      return nil
    }

    /// Whether what comes behind the end of the coded data is more of them.
    private func entersNext() -> Bool {
      guard surplus == 0, let byte = input.first else { return false }
      return decoder.restarts(at: byte)
    }

    private mutating func run(_ wording: Wording) throws -> DecodingStep {
      let (input, decoder) = (input, decoder)
      do {
        return try output.withUnsafeMutableBytes { output in
          try input.withUnsafeBytes { try decoder.decode($0, into: output) }
        }
      } catch let failure as DecodingFailure {
        throw wording.error("cannot be decoded: \(failure.reason)")
      }
    }

    /// The body beneath has ended. Returns, once, how many bytes came behind the coded data.
    mutating func finish(_ wording: Wording) throws -> Int {
      guard position != .within else { throw wording.error("ends before the coded data do") }
      defer { surplus = 0 }
      return surplus
    }
  }
}

/// Counts the bytes of a body.
final class CountedBody: BodySource {
  private let base: any BodySource
  private let total = Atomic(0)

  init(_ base: any BodySource) { self.base = base }

  /// How many bytes were read so far.
  var count: Int { total.load(ordering: .relaxed) }

  func next() async throws -> Data? {
    let chunk = try await base.next()
    total.add(chunk?.count ?? 0, ordering: .relaxed)
    return chunk
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields { base.trailers }
}

/// A decoded body that may not be much longer than its coded bytes: ``RequestOptions/decompressionRatioLimit``.
final class RatioLimitedBody: BodySource {
  private let base: any BodySource
  private let coded: CountedBody
  private let limit: Int
  private let peer: String
  private let total = Atomic(0)
  /// Below this many bytes no ratio is too large.
  private static let harmless = 10 << 20

  /// - Parameter coded: the bytes that the body is made of.
  init(_ base: any BodySource, of coded: CountedBody, limit: Int, peer: String) {
    self.base = base
    self.coded = coded
    self.limit = limit
    self.peer = peer
  }

  func next() async throws -> Data? {
    guard let chunk = try await base.next() else { return nil }
    let count = total.add(chunk.count, ordering: .relaxed).newValue
    guard count <= Self.harmless || count / max(1, coded.count) <= limit else {
      base.cancel()
      throw HTTPError(
        .bodyTooLarge,
        "\(peer): \(coded.count) coded bytes are \(count) and more when they are decoded, over \(limit) times as many: "
          + "raise decompressionRatioLimit if that is right",
        phase: .receiving)
    }
    return chunk
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields { base.trailers }
}
