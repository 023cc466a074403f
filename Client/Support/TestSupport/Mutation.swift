/// Changes of a message like those by faulty or hostile peers.
package enum Mutation {
  /// Bytes with a meaning in a message.
  private static let special: [UInt8] = Array("\r\n \t:;,0123456789aAfFgGxX\"\\".utf8) + [0, 1, 11, 127, 128, 255]

  /// Returns the bytes after one to three changes.
  package static func mutated(
    _ bytes: [UInt8], from others: [[UInt8]], using random: inout SeededGenerator
  ) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 0...8, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0: bytes.insert(special.randomElement(using: &random) ?? 0, at: place)
      case 1: if place < bytes.count { bytes[place] = special.randomElement(using: &random) ?? 0 }
      case 2: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
      case 3: bytes.removeSubrange(place..<end)
      case 4: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 5: bytes.removeSubrange(place...)
      default:
        guard let other = others.randomElement(using: &random) else { break }
        bytes = Array(bytes[..<place] + other.suffix(from: Int.random(in: 0...other.count, using: &random)))
      }
    }
    return bytes
  }
}

/// A generator whose numbers depend on its seed only (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}
