import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("The keys and the mouse of a terminal", .timeLimit(.minutes(5)))
struct InputReaderTests {
  @Test(arguments: [
    ("\u{1B}[C", [Key.right]), ("\u{1B}OD", [.left]), ("\u{1B}[A", [.up]), ("\u{1B}[B", [.down]), ("\t", [.tab]),
    ("\u{1B}[Z", [.tab]), ("\r", [.enter]), ("\n", [.enter]), ("\u{7F}", [.backspace]), ("\u{3}", [.interrupt]),
    ("\u{1B}", [.escape]), ("\u{1B}[1;5C", [.right]), ("\u{1B}[5~", [.pageUp]), ("\u{1B}[6~", [.pageDown]),
    ("\u{1B}[15~", [.f5]), ("\u{1B}[23~", [.f11]), ("\u{1B}[17~", []), ("\u{2}", []),
    ("\u{1B}[H\u{1B}OH\u{1B}[1~\u{1B}[7~\u{1}", Array(repeating: .home, count: 5)),
    ("\u{1B}[F\u{1B}OF\u{1B}[4~\u{1B}[8~\u{5}", Array(repeating: .end, count: 5)),
    ("\u{1B}[3~\u{15}\u{1A}", [.delete, .eraseLine, .suspend]),
    ("n\u{1B}[Cq", [.character("n"), .right, .character("q")]), ("ö日", [.character("ö"), .character("日")]),
  ])
  func bytesBecomeKeys(text: String, keys: [Key]) {
    var reader = InputReader()

    #expect(reader.read(text.utf8) == keys.map { .key($0) })
  }

  @Test func aCharacterMayComeInPieces() {
    var reader = InputReader()
    let bytes = Array("日".utf8)

    #expect(reader.read(bytes.prefix(1)).isEmpty)
    #expect(reader.read(bytes.dropFirst()) == [.key(.character("日"))])
  }

  @Test func damagedBytesAreNoKeys() {
    var reader = InputReader()

    #expect(reader.read([0xFF, 0x80, 0xC3, 0x28, UInt8(ascii: "q")]).last == .key(.character("q")))
  }

  @Test(arguments: [
    ("\u{1B}[<0;12;3M", [MouseReport(.press, Cell(column: 11, row: 2))]),
    ("\u{1B}[<0;200;100m", [MouseReport(.release, Cell(column: 199, row: 99))]),
    ("\u{1B}[<4;1;1M", [MouseReport(.press, Cell(column: 0, row: 0))]),
    ("\u{1B}[<64;5;5M", [MouseReport(.wheelUp, Cell(column: 4, row: 4))]),
    ("\u{1B}[<65;5;5M", [MouseReport(.wheelDown, Cell(column: 4, row: 4))]),
    // The right button, motion, and invalid reports.
    ("\u{1B}[<2;5;5M\u{1B}[<32;5;5M\u{1B}[<0;5M\u{1B}[<0;0;1M", []),
    // The older form, for terminals that do not know the newer one.
    (
      "\u{1B}[M !!\u{1B}[M#!!",
      [MouseReport(.press, Cell(column: 0, row: 0)), .init(.release, .init(column: 0, row: 0))]
    ),
  ])
  func bytesBecomeReportsOfTheMouse(text: String, reports: [MouseReport]) {
    var reader = InputReader()

    #expect(reader.read(text.utf8) == reports.map { .mouse($0) })
  }

  @Test func aReportMayComeInPieces() {
    let bytes = Array("\u{1B}[<0;12;3Mq".utf8)

    // Not after the first byte: escape alone is a key.
    for place in 2..<bytes.count {
      var reader = InputReader()
      let inputs = reader.read(bytes.prefix(place)) + reader.read(bytes.dropFirst(place))
      #expect(inputs == [.mouse(MouseReport(.press, Cell(column: 11, row: 2))), .key(.character("q"))])
    }
  }
}

@Suite("What a terminal's mouse does", .timeLimit(.minutes(5)))
struct MouseGestureTests {
  private let start = ContinuousClock.now

  private func gestures(_ reports: [(MouseReport.Kind, Int, Int, Duration)]) -> [MouseGesture] {
    var gestures = MouseGestures()
    return reports.compactMap { kind, column, row, time in
      gestures.take(MouseReport(kind, Cell(column: column, row: row)), at: start + time)
    }
  }

  private func cell(_ column: Int, _ row: Int) -> Cell { Cell(column: column, row: row) }

  @Test func aPressAndAReleaseAreAClick() {
    #expect(gestures([(.press, 5, 6, .zero), (.release, 6, 6, .zero)]) == [.click(1, cell(5, 6))])
  }

  @Test func twoClicksInQuickSuccessionAreADoubleClick() {
    let twice = gestures([
      (.press, 5, 6, .zero), (.release, 5, 6, .zero), (.press, 5, 6, .milliseconds(99)),
      (.release, 5, 6, .milliseconds(199)),
    ])
    let slow = gestures([
      (.press, 5, 6, .zero), (.release, 5, 6, .zero), (.press, 5, 6, .seconds(1)), (.release, 5, 6, .seconds(1)),
    ])
    let elsewhere = gestures([
      (.press, 5, 6, .zero), (.release, 5, 6, .zero), (.press, 40, 6, .zero), (.release, 40, 6, .zero),
    ])

    #expect(twice == [.click(1, cell(5, 6)), .click(2, cell(5, 6))])
    #expect(slow == [.click(1, cell(5, 6)), .click(1, cell(5, 6))])
    #expect(elsewhere == [.click(1, cell(5, 6)), .click(1, cell(40, 6))])
  }

  @Test func aReleaseElsewhereIsADrag() {
    #expect(gestures([(.press, 5, 6, .zero), (.release, 9, 6, .zero)]) == [.drag(from: cell(5, 6), to: cell(9, 6))])
  }

  @Test func aReleaseAloneIsNothing() {
    #expect(gestures([(.release, 5, 6, .zero)]).isEmpty)
  }

  @Test func theWheelTurns() {
    #expect(gestures([(.wheelUp, 1, 1, .zero), (.wheelDown, 1, 1, .zero)]) == [.wheelUp, .wheelDown])
  }
}
