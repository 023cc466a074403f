import MartletImages

/// Damage to a file: changed, missing, doubled and foreign bytes.
enum Mutation {
  /// One to four changes. `others` are files of the same format, of which pieces are taken.
  static func mutated(_ original: Data, _ others: [Data], using random: inout SplitMix) -> Data {
    var bytes = [UInt8](original)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0..<max(bytes.count, 1), using: &random)
      let piece = place..<min(place + Int.random(in: 1...40, using: &random), bytes.count)
      guard !piece.isEmpty else { break }
      switch Int.random(in: 0..<9, using: &random) {
      case 0: bytes.removeSubrange(piece)
      case 1: bytes.insert(contentsOf: bytes[piece], at: Int.random(in: 0...bytes.count, using: &random))
      case 2: bytes.removeLast(min(piece.count, bytes.count - 1))
      case 3:
        guard let other = others.randomElement(using: &random), !other.isEmpty else { continue }
        let start = Int.random(in: 0..<other.count, using: &random)
        bytes.replaceSubrange(piece, with: other[other.startIndex + start..<other.endIndex].prefix(piece.count))
      case 4: for index in piece { bytes[index] = [0, 0x7F, 0x80, 0xFF][place % 4] }
      case 5, 6: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      default: bytes[place] = UInt8.random(in: 0...255, using: &random)
      }
    }
    return Data(bytes)
  }
}

/// A generator that gives the same numbers every time (SplitMix64).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
