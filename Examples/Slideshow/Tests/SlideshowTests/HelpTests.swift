import Martlet
import SlideshowLaunch
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite("One table for keys and help", .timeLimit(.minutes(5)))
struct HelpTests {
  @Test func everyKeyOfTheTableDoesSomethingAndStandsThereOnce() {
    var seen: Set<Key> = []

    for key in KeyBinding.all.flatMap(\.keys) {
      #expect(seen.insert(key).inserted)
      #expect(KeyBinding.command(for: key, in: Fixture.state()) != nil)
    }
  }

  @Test func everyKeyIsInEveryHelp() {
    for binding in KeyBinding.all {
      for (frontEnd, help) in [
        (KeyBinding.FrontEnd.terminal, CommandLineOptions.terminalHelp), (.window, CommandLineOptions.windowHelp),
      ] {
        #expect(help.contains(binding.names(in: frontEnd)))
        #expect(help.contains(binding.meaning))
      }
    }
    #expect(!CommandLineOptions.windowHelp.contains("q Ctrl-C"))
  }

  @Test func everyOptionIsInTheHelp() {
    for option in CommandLineOption.allCases {
      #expect(CommandLineOptions.terminalHelp.contains("  \(option.rawValue)"))
    }
    #expect(!CommandLineOptions.windowHelp.contains("--serve"))
  }

  @Test func theHelpFitsIntoEightyColumns() {
    for help in [CommandLineOptions.terminalHelp, CommandLineOptions.windowHelp] {
      for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }
  }

  @Test func everyKeyIsInTheReadme() throws {
    let readme = try String(
      contentsOf: DemoService.photos.deletingLastPathComponent().appending(path: "README.md"), encoding: .utf8)

    for binding in KeyBinding.all { #expect(readme.contains("| \(binding.names(in: .terminal)) |")) }
  }

  @Test func theQuestionMarkShowsAllKeysAtEightyColumns() {
    var state = Fixture.state()
    state.showWanted()
    let screen = ScreenSize(columns: 80, rows: 24)

    _ = state.handle(.key(.character("?")))

    let text = Frame(of: state, on: screen).lines.map(Fixture.plain).joined(separator: "\n")
    for line in KeyBinding.help(for: .terminal) { #expect(text.contains(line)) }
    #expect(!text.contains("…"))
  }

  @Test(arguments: [0, 1, 8])
  func aScreenThatIsTooLowForAllKeysSaysWhereTheyAre(missing: Int) {
    // The rows of the table, and five lines around them.
    let rows = KeyBinding.help(for: .terminal).count + 5 - missing
    var state = Fixture.state()
    _ = state.handle(.key(.character("?")))

    let text = Frame(of: state, on: ScreenSize(columns: 80, rows: rows)).lines.map(Fixture.plain).joined(
      separator: "\n")

    #expect(text.contains("q Ctrl-C") == (missing == 0))
    #expect(text.contains("slideshow --help shows all") == (missing > 0))
  }

  @Test(arguments: [Key.character("?"), .escape, .right, .tab])
  func helpGoesWithTheNextKey(key: Key) {
    var state = Fixture.state()
    _ = state.handle(.key(.character("?")))

    _ = state.handle(.key(key))

    #expect(state.panel == nil)
  }

  @Test(arguments: [80, 60, 40, 20])
  func theLineOfKeysIsNeverCutAndNamesTheKeyForAllOfThem(columns: Int) {
    for tab in [Key.character("1"), .character("2")] {
      var state = Fixture.state()
      _ = state.handle(.key(tab))

      let line = Frame(of: state, on: ScreenSize(columns: columns, rows: 24)).lines.map(Fixture.plain)[23]

      #expect(line.count <= columns)
      #expect(line.contains("? all keys"))
      #expect(!line.contains("…"))
      if columns == 80 { #expect(line.contains("q quit")) }
    }
  }
}
