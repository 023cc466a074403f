import MartletImages
import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("Row 51: how a terminal shows it", .timeLimit(.minutes(5)))
struct DrawingTests {
  private static let bitmap = Bitmap(
    size: PixelSize(width: 2, height: 2),
    pixels: [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128])

  @Test func twoByTwoPixelsAreTwoCharacters() {
    let lines = HalfBlocks.lines(of: Self.bitmap, columns: 10, rows: 10)

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

  @Test func favouritesHaveAFilledHeart() {
    let slides = [Slide(id: SlideID("1"), title: "A", isFavorite: true), Slide(id: SlideID("2"), title: "B")]
    var state = Fixture.state(slides: slides)
    _ = state.handle(.key(.character("1")))

    let lines = Frame.lines(of: state, on: Fixture.screen).map(Self.plain)

    #expect(lines[1].hasPrefix("› ♥ A"))
    #expect(lines[2].hasPrefix("  ♡ B"))
  }

  @Test func aMissingPictureHasAPlaceholderWithTheReason() throws {
    var state = Fixture.state()
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    _ = state.handle(.picture(request, .failure(.refusedFileName("../x", reason: "it leads elsewhere"))))

    let text = Frame.lines(of: state, on: Fixture.screen).map(Self.plain).joined(separator: "\n")
    #expect(text.contains("▨"))
    #expect(text.contains("'../x' is refused"))
  }

  @Test func aPictureOnItsWayHasALoadingSymbolAndItsProgress() throws {
    var state = Fixture.state()
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    _ = state.handle(.progress(request, completed: 50, total: 200))

    let text = Frame.lines(of: state, on: Fixture.screen).map(Self.plain).joined(separator: "\n")
    #expect(text.contains("⏳"))
    #expect(text.contains("50 of 200 bytes, 25 %"))
  }

  @Test func withoutSlidesAHintSaysWhatToCheck() {
    let text = Frame.lines(of: Fixture.state(slides: []), on: Fixture.screen).map(Self.plain).joined(separator: "\n")

    #expect(text.contains("check if the web service is running"))
  }

  @Test func theTitleOfTheSlideIsBeneathThePictureAndGoneInFullScreen() {
    var state = Fixture.state(slides: [Slide(id: SlideID("1"), title: "Sunrise")])
    #expect(Frame.lines(of: state, on: Fixture.screen).map(Self.plain).contains { $0.contains("Sunrise") })

    _ = state.handle(.key(.enter))
    #expect(!Frame.lines(of: state, on: Fixture.screen).map(Self.plain).contains { $0.contains("Sunrise") })
  }

  @Test func whereThePicturesCameFromIsCounted() {
    var state = Fixture.state()
    var statistics = LoadStatistics()
    statistics.network = 7
    _ = state.handle(.counted(statistics))

    let lines = Frame.lines(of: state, on: ScreenSize(columns: 90, rows: 13)).map(Self.plain)

    #expect(lines[11] == " network 7 · cache 0 · memory 0 · failed 0 · 0 bytes · 0 ms")
  }

  @Test(arguments: [(1, 1), (2, 3), (5, 4), (7, 5), (20, 6), (120, 40), (300, 2)])
  func everyFrameFillsItsScreenAndNoMore(columns: Int, rows: Int) throws {
    var state = Fixture.state(slides: Fixture.slides + [Slide(id: SlideID("w"), title: "日本語のとても長い題名 ⏳⏳⏳")])
    let screen = ScreenSize(columns: columns, rows: rows)
    _ = state.handle(.resized(screen.viewport))

    for key in [Key.left, .tab, .tab, .enter, .escape, .character("t"), .escape] {
      let request = state.handle(.key(key)).pictureRequest
      check(Frame.lines(of: state, on: screen), columns, rows)
      guard let request else { continue }
      var shown = Fixture.shown(request)
      shown.bitmap = Self.bitmap
      _ = state.handle(.picture(request, .success(shown)))
      check(Frame.lines(of: state, on: screen), columns, rows)
    }
  }

  private func check(_ lines: [String], _ columns: Int, _ rows: Int) {
    #expect(lines.count == rows)
    for line in lines { #expect(DisplayText.width(Self.plain(line)) <= columns) }
  }

  @Test func textFromElsewhereCannotSteerTheTerminal() {
    #expect(DisplayText.harmless("a\u{1B}[2Jb\nc\u{9B}d\u{202E}e") == "a\u{FFFD}[2Jb c\u{FFFD}d\u{FFFD}e")
    #expect(DisplayText.cut("日本語", to: 4) == "日…")
    #expect(DisplayText.wrapped("one two three", columns: 7) == ["one two", "three"])
  }

  /// The line without the codes for colours.
  private static func plain(_ line: String) -> String { line.replacing(/\u{1B}\[[0-9;]*m/, with: "") }
}
