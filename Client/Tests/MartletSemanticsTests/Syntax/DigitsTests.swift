@_spi(Toolkit) import MartletSemantics
import Testing

struct DigitsTests {
  @Test(
    arguments: [
      (0, 1, 10, "0"), (0, 3, 10, "000"), (7, 2, 10, "07"), (42, 2, 10, "42"), (42, 4, 10, "0042"), (7, 0, 10, "7"),
      // a longer number is not cut
      (12345, 4, 10, "12345"), (0x10000, 4, 16, "10000"),
      (0xA, 4, 16, "000a"), (8, 3, 8, "010"), (255, 3, 8, "377"),
      // the sign comes before the zeros and does not count
      (-7, 2, 10, "-07"), (-123, 2, 10, "-123"), (.min, 2, 10, "-9223372036854775808"),
      (.max, 16, 16, "7fffffffffffffff"),
    ] as [(Int, Int, Int, String)])
  func zerosFillTheWidth(_ number: Int, _ width: Int, _ radix: Int, expected: String) {
    #expect(number.digits(width, radix: radix) == expected)
  }

  @Test func everyTypeOfNumberHasDigits() {
    #expect(UInt8.max.digits(3, radix: 8) == "377")
    #expect(UInt32(1).digits(8, radix: 16) == "00000001")
    #expect(UInt64.max.digits(16, radix: 16) == "ffffffffffffffff")
    #expect(Int64(5).digits(3) == "005")
  }
}
