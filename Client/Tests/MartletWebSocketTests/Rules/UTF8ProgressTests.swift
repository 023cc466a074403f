import Testing

@testable import MartletWebSocket

/// RFC 3629, judged byte by byte as RFC 6455 §8.1 needs it.
struct UTF8ProgressTests {
  /// The position of the first wrong byte; nil if there is none.
  private func fault(in bytes: [UInt8]) -> Int? {
    var progress = UTF8Progress()
    for (index, byte) in bytes.enumerated() where !withUnsafeBytes(of: byte, { progress.accept($0) }) { return index }
    return progress.isComplete ? nil : bytes.count
  }

  @Test(
    arguments: [
      ([], nil), ([0x61], nil), ([0xC2, 0x80], nil), ([0xDF, 0xBF], nil), ([0xE0, 0xA0, 0x80], nil),
      ([0xED, 0x9F, 0xBF], nil), ([0xEE, 0x80, 0x80], nil), ([0xEF, 0xBF, 0xBF], nil), ([0xF0, 0x90, 0x80, 0x80], nil),
      ([0xF4, 0x8F, 0xBF, 0xBF], nil), ([0x80], 0), ([0xBF], 0), ([0xC0, 0x80], 0), ([0xC1, 0xBF], 0),
      ([0xC2], 1), ([0xC2, 0x41], 1), ([0xE0, 0x9F, 0xBF], 1), ([0xED, 0xA0, 0x80], 1), ([0xEF, 0xBF], 2),
      ([0xF0, 0x8F, 0xBF, 0xBF], 1), ([0xF4, 0x90, 0x80, 0x80], 1), ([0xF5], 0), ([0xFF], 0),
      ([0x61, 0xF0, 0x9F, 0x98, 0x61], 4),
    ] as [([UInt8], Int?)])
  func aWrongByteIsFoundWhereItIs(_ bytes: [UInt8], position: Int?) { #expect(fault(in: bytes) == position) }

  /// The standard library is the judge of each text of one to four bytes with interesting bytes.
  @Test func theStandardLibraryAgrees() {
    let bytes: [UInt8] = [
      0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4,
    ]
    for first in bytes {
      for second in bytes {
        for third in bytes {
          for fourth in bytes {
            let text = [first, second, third, fourth]
            #expect((fault(in: text) == nil) == (String(validating: text, as: UTF8.self) != nil))
          }
        }
      }
    }
  }

  @Test func longTextIsJudgedInAnyPieces() {
    let text = Array(String(repeating: "aäbcdefgh€ijklmnop😀", count: 20).utf8)
    for size in 1...40 {
      var progress = UTF8Progress()
      for start in stride(from: 0, to: text.count, by: size) {
        let isValid = text[start..<min(text.count, start + size)].withUnsafeBytes { progress.accept($0) }
        #expect(isValid)
      }
      #expect(progress.isComplete)
    }
  }
}
