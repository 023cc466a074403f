import MartletImages
import Testing

@Suite("Images in a terminal")
struct HalfBlocksTests {
  @Test func twoByTwoPixelsAreTwoCharacters() {
    let bitmap = Bitmap(
      size: PixelSize(width: 2, height: 2),
      pixels: [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128])

    let lines = HalfBlocks.lines(of: bitmap, columns: 10, rows: 10)

    #expect(
      lines == [
        "\u{1B}[38;2;255;0;0m\u{1B}[48;2;0;0;255m▀\u{1B}[38;2;0;255;0m\u{1B}[48;2;128;128;128m▀\u{1B}[0m"
      ])
  }

  @Test func anOddLastRowHasNothingBeneath() {
    let bitmap = Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255])

    #expect(HalfBlocks.lines(of: bitmap, columns: 9, rows: 9) == ["\u{1B}[38;2;1;2;3m\u{1B}[49m▀\u{1B}[0m"])
  }

  @Test func whatSticksOutIsCutEvenly() {
    let row: [UInt8] = [1, 1, 1, 255, 2, 2, 2, 255, 3, 3, 3, 255]
    let bitmap = Bitmap(size: PixelSize(width: 3, height: 1), pixels: row)

    #expect(HalfBlocks.lines(of: bitmap, columns: 1, rows: 1) == ["\u{1B}[38;2;2;2;2m\u{1B}[49m▀\u{1B}[0m"])
  }

  @Test func aSmallBitmapStandsInTheMiddleOfItsBox() {
    let bitmap = Bitmap(size: PixelSize(width: 1, height: 1), pixels: [9, 9, 9, 255])

    let lines = HalfBlocks.lines(of: bitmap, in: PixelSize(width: 4, height: 2))

    #expect(lines == [" \u{1B}[38;2;9;9;9m\u{1B}[49m▀\u{1B}[0m  "])
  }

  @Test func aScreenOfAnySizeShowsTheWholeBitmap() {
    let bitmap = Bitmap(size: PixelSize(width: 1, height: 3), pixels: [UInt8](repeating: 255, count: 12))

    #expect(HalfBlocks.lines(of: bitmap, columns: .max, rows: .max).count == 2)
  }

  @Test(arguments: [(0, 5), (5, 0), (0, 0), (5, Int.min), (Int.min, 5)])
  func anEmptyScreenHasNoLines(columns: Int, rows: Int) {
    let bitmap = Bitmap(size: PixelSize(width: 1, height: 1), pixels: [9, 9, 9, 255])

    #expect(HalfBlocks.lines(of: bitmap, columns: columns, rows: rows).isEmpty)
  }
}
