#if os(Linux)
import Foundation
import MartletTesting
import SAPFoundation
import TestSupport
import Testing

/// A value that a secure store has accepted can be read after a restart with the passcode, whatever happens to the file
/// in between; otherwise the store refuses it.
@Suite("The secure store whose file is lost, damaged or shared", .timeLimit(.minutes(5)))
struct SecureStoreLossTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var file: URL { folder.file("secrets.sqlite") }

  private func open(_ file: URL? = nil, with passcode: String = "x") throws -> SecureKeyValueStore {
    let store = SecureKeyValueStore(databaseFileName: (file ?? self.file).path)
    try store.open(with: passcode)
    return store
  }

  /// What happens to the files of a store while it is open.
  enum Loss: CaseIterable {
    case fileDeleted, allDeleted, journalDeleted, cutToNothing, cutToHalf, journalCut, newFile
    case headerDamaged, pagesDamaged, allDamaged

    func happen(to file: URL) throws {
      let journal = URL(filePath: file.path + "-wal")
      switch self {
      case .fileDeleted: try FileManager.default.removeItem(at: file)
      case .allDeleted:
        for end in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: file.path + end) }
      case .journalDeleted: try FileManager.default.removeItem(at: journal)
      case .cutToNothing: truncate(file.path, 0)
      case .cutToHalf: try truncate(file.path, Data(contentsOf: file).count / 2)
      case .journalCut: truncate(journal.path, 0)
      case .newFile:
        try FileManager.default.moveItem(atPath: file.path, toPath: file.path + ".moved")
        try Data().write(to: file)
      case .headerDamaged: try overwrite(file, 0..<100)
      case .pagesDamaged: try overwrite(file, 4_096..<Int.max)
      case .allDamaged: try overwrite(file, 0..<Int.max)
      }
    }

    private func overwrite(_ file: URL, _ range: Range<Int>) throws {
      let handle = try FileHandle(forWritingTo: file)
      let range = try range.clamped(to: 0..<Int(handle.seekToEnd()))
      try handle.seek(toOffset: UInt64(range.lowerBound))
      try handle.write(contentsOf: Data(repeating: 0xA5, count: range.count))
      try handle.close()
    }
  }

  @Test(arguments: Loss.allCases) func anAcceptedValueIsReadableAfterALoss(_ loss: Loss) throws {
    var store: SecureKeyValueStore? = try open()
    for number in 0..<3 { try store?.put("before", forKey: "before \(number)") }

    try loss.happen(to: file)

    let accepted = (0..<5).filter { number in (try? store?.put("after", forKey: "after \(number)")) != nil }
    // What a killed process leaves, and what one leaves that ends.
    let killed = folder.file("killed/secrets.sqlite")
    try FileManager.default.createDirectory(at: folder.file("killed"), withIntermediateDirectories: false)
    for end in ["", "-wal"] where FileManager.default.fileExists(atPath: file.path + end) {
      try FileManager.default.copyItem(atPath: file.path + end, toPath: killed.path + end)
    }
    store = nil
    guard !accepted.isEmpty else { return }
    for file in [killed, file] {
      let again = try open(file)
      for number in accepted { #expect(try again.getString("after \(number)") == "after", "\(number) in \(file.path)") }
    }
  }

  /// A store that was opened before its file was replaced does not know the key of the new one.
  @Test func aStoreRefusesValuesForAFileWithAnotherKey() throws {
    let first = try open()
    for end in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: file.path + end) }
    let second = try open(with: "another")
    try second.put("second", forKey: "key")

    let error = #expect(throws: SecureStorageError.self) { try first.put("first", forKey: "key") }

    #expect(error?.description.contains("close the store, and open it again") == true, "\(error as Any)")
    second.close()
    #expect(try open(with: "another").getString("key") == "second")
  }

  @Test func aChangedPasscodeIsThatOfTheFileThatReplacesALostOne() throws {
    let store = try open()
    try store.secureDatabaseStore.changeEncryptionKey(with: "new")
    try FileManager.default.removeItem(at: file)
    try store.put("text", forKey: "key")
    #expect(try open(with: "new").getString("key") == "text")
  }

  @Test func aStoreKeepsWritingWhenAnotherChangesThePasscode() throws {
    let (store, other) = (try open(), try open())
    try other.secureDatabaseStore.changeEncryptionKey(with: "new")
    try store.put("text", forKey: "key")
    #expect(try open(with: "new").getString("key") == "text")
  }

  @Test func processesThatOpenANewFileAtOnceShareIt() async throws {
    let program = SAPProgram(folder: folder)
    for round in 0..<2 {
      let file = folder.file("round \(round).sqlite")
      let printed = try await withThrowingTaskGroup { group in
        for number in 0..<4 {
          group.addTask { try await program.run("secure", file.path, "x", "\(number)", "3") }
        }
        return try await group.reduce("") { $0 + $1 }
      }

      let accepted = printed.split(separator: "\n").filter { $0.hasPrefix("put ") }.map { String($0.dropFirst(4)) }
      #expect(accepted.count == 12, "\(printed)")
      let store = try open(file)
      #expect(try store.keys() == Set(accepted))
      for key in accepted { #expect(try store.getString(key) == key) }
    }
  }

  /// A store in the current folder, or in one that is not the user's, would be lost or read by others.
  @Test(arguments: [["-u", "HOME"], ["HOME="], ["HOME=relative"], ["HOME=relative", "XDG_DATA_HOME=relative"]])
  func aUserWithoutAFolderHasNoStore(environment: [String]) throws {
    let arguments = ["-u", "XDG_DATA_HOME", "-u", "XDG_CACHE_HOME"] + environment
    let process = try ChildProcess(
      "env", arguments + [builtProgram("sap-program"), "secure", "file.sqlite", "x", "1", "1"], in: folder.url,
      output: .readWithErrors)
    let text = String(decoding: process.readToEnd(), as: UTF8.self)

    #expect(!process.succeeds())
    #expect(text.contains("the user has no folder for data: set XDG_DATA_HOME or HOME to an absolute path"), "\(text)")
    #expect(try folder.names().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: "/home/.local"))
  }

  @Test func valuesThatCannotBeDecryptedArePassedOver() throws {
    let store = try open()
    try store.put("text", forKey: "key")
    let raw = try SQLiteDataStore(at: file)
    try raw.put(data: Data("no encrypted value".utf8), for: "one")
    try EncryptedDataStore(store: raw, key: EncryptedDataStore.makeKey()).put(data: Data([1]), for: "two")

    #expect(try store.keys() == ["key"])
    try store.removeAll()
    #expect(try store.keys().isEmpty && store.getString("key") == nil)
  }

  /// An app that erases its data after some wrong passcodes would otherwise erase it.
  @Test(arguments: ["derivation", "secrets"], [0, -30]) func aChangedBitOfTheKeyIsDamage(
    _ name: String, at place: Int
  )
    throws
  {
    do {
      let store = try open()
      try store.put("text", forKey: "key")
      store.close()
    }
    let stored = try #require(try SQLiteDataStore(at: file).data(for: name))
    var content = try Data(contentsOf: file)
    let found = try #require(content.range(of: stored))
    content[place < 0 ? found.upperBound + place : found.lowerBound + place] ^= 4
    try content.write(to: file)

    let error = #expect(throws: SecureStorageError.self) { try open() }

    guard case .openFailed(_, let message)? = error else {
      Issue.record("expected .openFailed, not \(error as Any)")
      return
    }
    #expect(message.contains("secrets.sqlite.damaged-1"), "\(message)")
    #expect(try Data(contentsOf: folder.file("secrets.sqlite.damaged-1")).range(of: stored) == nil)
    #expect(try open(with: "new").keys().isEmpty)
  }
}
#endif
