import MartletEngine
import MartletImages
import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("How a terminal shows it", .timeLimit(.minutes(5)))
struct DrawingTests {
  private static let bitmap = Bitmap(
    size: PixelSize(width: 2, height: 2),
    pixels: [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128])

  @Test func favouritesHaveAFilledHeart() {
    let slides = [Slide(id: SlideID("1"), title: "A", isFavorite: true), Slide(id: SlideID("2"), title: "B")]
    var state = Fixture.state(slides: slides)
    _ = state.handle(.key(.character("1")))

    let lines = Frame(of: state, on: Fixture.screen).lines.map(Fixture.plain)

    #expect(lines[1].hasPrefix("› ♥ A"))
    #expect(lines[2].hasPrefix("  ♡ B"))
  }

  @Test func aMissingPictureHasAPlaceholderWithTheReason() throws {
    var state = Fixture.state()
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    _ = state.handle(.picture(request, .failure(.refusedFileName("../x", reason: "it leads elsewhere"))))

    let text = Frame(of: state, on: Fixture.screen).lines.map(Fixture.plain).joined(separator: "\n")
    #expect(text.contains("▨"))
    #expect(text.contains("The name of this picture's file"))
    #expect(text.contains("d: details"))
  }

  @Test func aPictureOnItsWayHasALoadingSymbolAndItsProgress() throws {
    var state = Fixture.state()
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    _ = state.handle(.progress(request, completed: 50, total: 200))

    let text = Frame(of: state, on: Fixture.screen).lines.map(Fixture.plain).joined(separator: "\n")
    #expect(text.contains("⏳"))
    #expect(text.contains("25 % of 200 bytes"))
  }

  @Test func withoutSlidesAHintSaysWhatToCheck() {
    let text = Frame(of: Fixture.state(slides: []), on: Fixture.screen).lines.map(Fixture.plain).joined(separator: "\n")

    #expect(text.contains("Check if the web service is running"))
  }

  @Test func theTitleOfTheSlideIsBeneathThePictureAndGoneInFullScreen() {
    var state = Fixture.state(slides: [Slide(id: SlideID("1"), title: "Sunrise")])
    #expect(Frame(of: state, on: Fixture.screen).lines.map(Fixture.plain).contains { $0.contains("Sunrise") })

    _ = state.handle(.key(.enter))
    #expect(!Frame(of: state, on: Fixture.screen).lines.map(Fixture.plain).contains { $0.contains("Sunrise") })
  }

  @Test func whereThePicturesCameFromIsCounted() {
    var state = Fixture.state()
    state.showWanted(from: .session(.network), bytes: 12_345)

    let lines = Frame(of: state, on: ScreenSize(columns: 90, rows: 13)).lines.map(Fixture.plain)

    #expect(lines[11] == " 1 of 3 pictures shown · 1 from the network · 12.3 kB")
  }

  @Test(arguments: [(1, 1), (2, 3), (5, 4), (7, 5), (20, 6), (120, 40), (300, 2)])
  func everyFrameFillsItsScreenAndNoMore(columns: Int, rows: Int) throws {
    var state = Fixture.state(slides: Fixture.slides + [Slide(id: SlideID("w"), title: "日本語のとても長い題名 ⏳⏳⏳")])
    let screen = ScreenSize(columns: columns, rows: rows)
    _ = state.handle(.resized(screen.viewport))

    for key in [
      Key.left, .tab, .tab, .enter, .escape, .character("t"), .escape, .character("?"), .character("d"), .enter, .tab,
      .character("a"),
    ] {
      let request = state.handle(.key(key)).pictureRequest
      check(Frame(of: state, on: screen).lines, columns, rows)
      guard let request else { continue }
      var shown = Fixture.shown(request)
      shown.bitmap = Self.bitmap
      _ = state.handle(.picture(request, .success(shown)))
      check(Frame(of: state, on: screen).lines, columns, rows)
    }
  }

  private func check(_ lines: [String], _ columns: Int, _ rows: Int) {
    #expect(lines.count == rows)
    for line in lines { #expect(DisplayText.width(Fixture.plain(line)) <= columns) }
  }

  @Test func textFromElsewhereCannotSteerTheTerminal() {
    #expect(DisplayText.harmless("a\u{1B}[2Jb\nc\u{9B}d\u{202E}e") == "a\u{FFFD}[2Jb c\u{FFFD}d\u{FFFD}e")
    #expect(DisplayText.cut("日本語", to: 4) == "日…")
    #expect(DisplayText.wrapped("one two three", columns: 7) == ["one two", "three"])
  }

  @Test func aLongWordIsWrappedWithoutALoss() {
    #expect(DisplayText.wrapped("日本語の文字", columns: 5) == ["日本", "語の", "文字"])
    #expect(DisplayText.wrapped("abcdefgh", columns: 5) == ["abcde", "fgh"])
    #expect(DisplayText.wrapped("日本", columns: 1) == ["日", "本"])
  }
}
