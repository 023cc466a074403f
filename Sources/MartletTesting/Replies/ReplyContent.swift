import MartletSemantics

/// Where the bytes of a reply come from.
enum ReplyContent: Sendable {
  case bytes(Data)
  case raw(Data)
  case file(OpenFile, Range<Int64>)
  case generated(length: Int64?, @Sendable (Int64) throws -> Data?)

  var length: Int64? {
    switch self {
    case .bytes(let data), .raw(let data): Int64(data.count)
    case .file(_, let range): Int64(range.count)
    case .generated(let length, _): length
    }
  }
}

/// Hands a reply's bytes out in pieces.
struct ReplyPieces {
  private let content: ReplyContent
  private var offset: Int64 = 0
  private var generated = Data()
  /// What is read from a file at a time.
  private static let pieceSize: Int64 = 256 << 10

  init(_ content: ReplyContent) { self.content = content }

  /// The next bytes; empty at the end.
  mutating func next(upTo limit: Int64) throws -> Data {
    let piece =
      switch content {
      case .bytes(let data), .raw(let data): data.dropFirst(Int(offset)).prefix(Int(min(limit, Int64(data.count))))
      case .file(let file, let range):
        try file.read(at: range.lowerBound + offset, count: min(limit, Self.pieceSize, Int64(range.count) - offset))
      case .generated(_, let make): try nextGenerated(make, upTo: limit)
      }
    offset += Int64(piece.count)
    return piece
  }

  private mutating func nextGenerated(_ make: (Int64) throws -> Data?, upTo limit: Int64) throws -> Data {
    if generated.isEmpty {
      guard let made = try make(offset) else { return Data() }
      generated = made
    }
    let piece = generated.prefix(Int(min(limit, Int64(generated.count))))
    generated = generated.dropFirst(piece.count)
    return piece
  }
}
