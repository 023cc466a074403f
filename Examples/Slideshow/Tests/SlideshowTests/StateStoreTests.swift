import Martlet
import SlideshowModel
import Testing

@Suite("What is remembered", .timeLimit(.minutes(5)))
struct StateStoreTests {
  private let file = Fixture.stateFile()

  @Test func favouritesAndTitleSurviveTheEndOfTheProgram() {
    var state = KeptState()
    state.title = "Sommer"
    state.toggleFavorite(Slide(id: SlideID("10")))

    #expect(StateStore(file: file, name: "a").save(state) == nil)

    #expect(StateStore(file: file, name: "a").load().state == state)
    #expect(StateStore(file: file, name: "b").load().state == KeptState())
    clean()
  }

  @Test func slideshowsDoNotOverwriteEachOther() {
    var first = KeptState()
    first.title = "First"
    _ = StateStore(file: file, name: "a").save(first)
    _ = StateStore(file: file, name: "b").save(KeptState())

    #expect(StateStore(file: file, name: "a").load().state == first)
    clean()
  }

  @Test func aDamagedFileIsSetAsideWithAWarning() throws {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("{ not JSON".utf8).write(to: file)

    let (state, warning) = StateStore(file: file, name: "a").load()

    #expect(state == KeptState())
    #expect(warning?.sentence.contains("damaged") == true)
    #expect(try Data(contentsOf: file.appendingPathExtension("corrupt")) == Data("{ not JSON".utf8))
    #expect(StateStore(file: file, name: "a").load().warning == nil)
    clean()
  }

  @Test func eachDamagedFileIsKept() throws {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    for text in ["{ first", "{ second"] {
      try Data(text.utf8).write(to: file)
      #expect(StateStore(file: file, name: "a").load().warning != nil)
    }

    #expect(try Data(contentsOf: file.appendingPathExtension("corrupt")) == Data("{ first".utf8))
    #expect(try Data(contentsOf: file.appendingPathExtension("corrupt-2")) == Data("{ second".utf8))
    clean()
  }

  @Test func readingThePortOfTheDemoLeavesADamagedFileAndItsWarning() throws {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("{ not JSON".utf8).write(to: file)
    let store = StateStore(file: file, name: "demo")

    #expect(throws: DecodingError.self) { try store.demoPort }
    #expect(try Data(contentsOf: file) == Data("{ not JSON".utf8))

    #expect(store.save(demoPort: 4711)?.sentence.contains("damaged") == true)
    #expect(try store.demoPort == 4711)
    clean()
  }

  @Test func aPlaceThatCannotBeWrittenIsAWarning() {
    let store = StateStore(file: URL(filePath: "/dev/null/state.json"), name: "a")

    #expect(store.save(KeptState())?.sentence.contains("--state") == true)
  }

  @Test(arguments: [
    (["XDG_STATE_HOME": "/x", "HOME": "/h"], "/x/martlet-slideshow/state.json"),
    (["HOME": "/h"], "/h/.local/state/martlet-slideshow/state.json"),
    (["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/martlet-slideshow/state.json"),
  ])
  func theFileIsWhereStateBelongs(environment: [String: String], path: String) {
    #expect(StateStore.defaultFile(environment: environment).path == path)
  }

  /// `--state /dev/null`; a link stands for the device, so that a mistake does not destroy it.
  @Test func aDeviceIsNotReplaced() throws {
    defer { clean() }
    let folder = file.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: URL(filePath: "/dev/null"))
    let store = StateStore(file: file, name: "a")
    #expect(store.load().warning?.details.contains("not a regular file") == true)
    #expect(store.save(KeptState()) != nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [file.lastPathComponent])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "/dev/null")
  }

  private func clean() { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }

  @Test func aFileThatCannotBeReadIsNotReplaced() throws {
    let file = Fixture.stateFile()
    let folder = file.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: file)  // reading it never ends at a file
    let store = StateStore(file: file, name: "a")

    #expect(store.load().warning != nil)
    #expect(store.save(KeptState()) != nil)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == file.path)
  }
}
