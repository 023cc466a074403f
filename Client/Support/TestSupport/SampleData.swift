public import Foundation

extension Data {
  /// Bytes that differ from their neighbours: 0 to 250, again and again. In debug builds, a closure that makes each
  /// byte takes longer than most tests.
  ///
  /// - Parameters:
  ///   - count: the number of bytes.
  ///   - start: the place of the first byte in the sequence.
  public static func counting(_ count: Int, from start: Int = 0) -> Data {
    let period = 251
    let pattern = Data((0..<period).map { UInt8(($0 + start) % period) })
    var data = Data(capacity: count + period)
    data.append(pattern)
    // The length stays a multiple of the period, so that the copies continue the sequence.
    while data.count < count { data.append(data) }
    return data.prefix(count).asContiguousCopy
  }

  /// Bytes that cannot be compressed.
  public static func random(_ count: Int) -> Data {
    var random = SystemRandomNumberGenerator()
    let words = (0..<(count + 7) / 8).map { _ in random.next() as UInt64 }
    return words.withUnsafeBytes { Data($0.prefix(count)) }
  }

  /// The bytes with indices from 0.
  private var asContiguousCopy: Data { withUnsafeBytes { Data($0) } }
}
