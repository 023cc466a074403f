import MartletImages
import Testing

@Suite("WebP", .timeLimit(.minutes(5)))
struct WebPTests {
  /// Bits, the lowest of each byte first, as in a lossless bitstream (RFC 9649 §3).
  private struct Bits {
    private(set) var bytes: [UInt8] = []
    private var count = 0

    mutating func write(_ value: Int, _ width: Int) {
      for bit in 0..<width {
        if count % 8 == 0 { bytes.append(0) }
        bytes[count / 8] |= UInt8(value >> bit & 1) << UInt8(count % 8)
        count += 1
      }
    }

    /// Writes the five prefix codes of an image whose pixels are all the same (RFC 9649 §3.7.2.1.1).
    mutating func codes(green: Int, red: Int = 0, blue: Int = 0, alpha: Int = 0) {
      for value in [green, red, blue, alpha, 0] {
        write(0b01, 2)  // a simple code of one symbol
        write(value > 1 ? 1 : 0, 1)
        write(value, value > 1 ? 8 : 1)
      }
    }
  }

  /// A lossless image of 2×1 pixels with a palette of one color, red: the second pixel's index is not in it.
  private static func palette(hasAlpha: Bool) -> Data {
    var bits = Bits()
    bits.write(0x2F, 8)
    bits.write(1, 14)  // the width - 1
    bits.write(0, 14)
    bits.write(hasAlpha ? 1 : 0, 1)
    bits.write(0, 3)
    bits.write(1, 1)  // a transform: by a palette of one color
    bits.write(3, 2)
    bits.write(0, 8)
    bits.write(0, 1)
    bits.codes(green: 0, red: 255, alpha: 255)
    bits.write(0, 1)  // no more transforms
    bits.write(0, 2)
    bits.codes(green: 0b10)  // both indices
    let stream = bits.bytes + (bits.bytes.count % 2 == 1 ? [0] : [])
    func length(_ count: Int) -> [UInt8] { [UInt8(count), 0, 0, 0] }
    return Data(
      Array("RIFF".utf8) + length(stream.count + 12) + Array("WEBPVP8L".utf8) + length(bits.bytes.count) + stream)
  }

  @Test
  func pixelOutsideOfThePaletteIsBlackInAFileWithoutAlpha() throws {
    #expect(try ImageDecoder.decode(Self.palette(hasAlpha: false)).pixels == [255, 0, 0, 255, 0, 0, 0, 255])
    #expect(try ImageDecoder.decode(Self.palette(hasAlpha: true)).pixels == [255, 0, 0, 255, 0, 0, 0, 0])
  }
}
