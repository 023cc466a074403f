import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("Row 51: the keys of a terminal", .timeLimit(.minutes(5)))
struct KeyReaderTests {
  @Test(arguments: [
    ("\u{1B}[C", [Key.right]), ("\u{1B}OD", [.left]), ("\u{1B}[A", [.up]), ("\u{1B}[B", [.down]), ("\t", [.tab]),
    ("\u{1B}[Z", [.tab]), ("\r", [.enter]), ("\n", [.enter]), ("\u{7F}", [.backspace]), ("\u{3}", [.interrupt]),
    ("\u{1B}", [.escape]), ("\u{1B}[1;5C", [.right]), ("\u{1B}[15~", []), ("\u{1}", []),
    ("n\u{1B}[Cq", [.character("n"), .right, .character("q")]), ("ö日", [.character("ö"), .character("日")]),
  ])
  func bytesBecomeKeys(text: String, keys: [Key]) {
    var reader = KeyReader()

    #expect(reader.read(text.utf8) == keys)
  }

  @Test func aCharacterMayComeInPieces() {
    var reader = KeyReader()
    let bytes = Array("日".utf8)

    #expect(reader.read(bytes.prefix(1)).isEmpty)
    #expect(reader.read(bytes.dropFirst()) == [.character("日")])
  }

  @Test func damagedBytesAreNoKeys() {
    var reader = KeyReader()

    #expect(reader.read([0xFF, 0x80, 0xC3, 0x28, UInt8(ascii: "q")]).last == .character("q"))
  }
}
