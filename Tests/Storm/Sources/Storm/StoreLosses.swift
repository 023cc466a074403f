#if canImport(Glibc)
import Foundation
import Glibc
import MartletTesting

/// What happens to the files of a store while it is in use.
package enum StoreLoss: String, CaseIterable, Sendable {
  // to its files, by another program
  case fileDeleted, allDeleted, journalDeleted, folderDeleted, cutToNothing, cutToHalf, journalCut, emptyFile
  case bitsFlipped, allOverwritten, timesChanged, linkMoved
  // to its process
  case killed, fullDisk, readOnly, firstUsers

  var isOfProcess: Bool { [.killed, .fullDisk, .readOnly, .firstUsers].contains(self) }
}

/// Checks a promise of every store: **what it has accepted can be read after a restart, or the write has failed**.
package struct StoreLosses: Sendable {
  private let program: String

  /// - Parameter program: the path of the program `storm`, which writes in processes of their own.
  package init(program: String) { self.program = program }

  /// Lets a store accept numbers before and after a loss, and returns what cannot be read after a restart.
  package func run(_ store: LossyStore, _ loss: StoreLoss) async -> [String] {
    do {
      let folder = try TemporaryFolder()
      try FileManager.default.createDirectory(at: folder.file("store"), withIntermediateDirectories: false)
      return try await loss.isOfProcess
        ? runProcesses(store, loss, in: folder.file("store")) : runHere(store, loss, in: folder)
    } catch {
      return ["\(error)"]
    }
  }

  // MARK: - Losses of files

  private func runHere(_ store: LossyStore, _ loss: StoreLoss, in folder: TemporaryFolder) async throws -> [String] {
    var place = folder.file("store")
    if loss == .linkMoved {
      try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: place)
      place = folder.file("link")
    }
    let (accepted, later) = try await numbersAccepted(by: store, loss, in: place, folder)
    // What a killed process leaves: its shared memory does not matter, because nothing has it open.
    let killed = folder.file("killed")
    _ = try? FileManager.default.copyItem(at: place.resolvingSymlinksInPath(), to: killed)
    for file in (try? files(in: killed)) ?? [] where file.path.hasSuffix("-shm") {
      try FileManager.default.removeItem(at: file)
    }
    withExtendedLifetime(later) {}
    var problems: [String] = []
    for folder in [killed, place] { problems += await missing(accepted, of: store, in: folder) }
    return problems
  }

  /// Returns the numbers that the store has accepted after the loss, and what keeps it open.
  private func numbersAccepted(
    by store: LossyStore, _ loss: StoreLoss, in place: URL, _ folder: TemporaryFolder
  ) async throws -> ([Int], LossyStore.Access) {
    let access = try store.open(place)
    for number in 0..<5 { try await access.put(number) }
    try happen(loss, in: place, folder)
    var accepted: [Int] = []
    for number in 5..<10 {
      do { try await access.put(number) } catch { continue }
      accepted.append(number)
    }
    return (accepted, access)
  }

  /// Returns what a restarted program misses.
  private func missing(_ accepted: [Int], of store: LossyStore, in folder: URL) async -> [String] {
    let expected = Set(store.hasOnlyLast ? accepted.suffix(1) : accepted)
    guard !expected.isEmpty else { return [] }
    do {
      let lost = expected.subtracting(try await store.open(folder).stored())
      return lost.isEmpty ? [] : ["\(lost.sorted()) of \(accepted) is lost in \(folder.lastPathComponent)"]
    } catch {
      return ["\(accepted) is lost in \(folder.lastPathComponent): \(error)"]
    }
  }

  private func files(in folder: URL) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { folder.appending(path: $0) }
  }

  private func happen(_ loss: StoreLoss, in place: URL, _ folder: TemporaryFolder) throws {
    let all = try files(in: place)
    let journals = all.filter { $0.path.hasSuffix("-wal") }
    let mains = all.filter { !$0.path.hasSuffix("-wal") && !$0.path.hasSuffix("-shm") }
    switch loss {
    case .fileDeleted: for file in mains { unlink(file.path) }
    case .allDeleted: for file in all { unlink(file.path) }
    case .journalDeleted: for file in journals { unlink(file.path) }
    case .folderDeleted: try FileManager.default.removeItem(at: place)
    case .cutToNothing: for file in mains { truncate(file.path, 0) }
    case .cutToHalf: for file in mains { try truncate(file.path, Data(contentsOf: file).count / 2) }
    case .journalCut: for file in journals { truncate(file.path, 0) }
    case .emptyFile:
      for file in mains {
        unlink(file.path)
        try Data().write(to: file)
      }
    case .bitsFlipped:
      for file in mains { try change(file) { $0[.random(in: 0..<$0.count)] ^= 1 << UInt8.random(in: 0..<8) } }
    case .allOverwritten: for file in mains { try change(file) { $0 = Data(repeating: 0xA5, count: $0.count) } }
    case .timesChanged:
      for (index, file) in all.enumerated() {
        var times = [timespec](repeating: timespec(tv_sec: index % 2 * 4_000_000_000, tv_nsec: 0), count: 2)
        utimensat(AT_FDCWD, file.path, &times, 0)
      }
    case .linkMoved:
      unlink(place.path)
      try FileManager.default.createDirectory(at: folder.file("other"), withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(at: place, withDestinationURL: folder.file("other"))
    case .killed, .fullDisk, .readOnly, .firstUsers: break
    }
  }

  /// Changes bytes of a file in place.
  private func change(_ file: URL, _ change: (inout Data) -> Void) throws {
    var content = try Data(contentsOf: file)
    guard !content.isEmpty else { return }
    change(&content)
    let handle = try FileHandle(forWritingTo: file)
    try handle.write(contentsOf: content)
    try handle.close()
  }

  // MARK: - Losses of processes

  private func runProcesses(_ store: LossyStore, _ loss: StoreLoss, in folder: URL) async throws -> [String] {
    if loss == .fullDisk || loss == .readOnly, !store.reportsFailures { return [] }
    if loss == .fullDisk, store.makesRoom { return [] }
    let count = loss == .killed ? 100_000 : 12
    let starts = loss == .firstUsers ? [0, 1_000, 2_000] : [0]
    let processes = try starts.map { start in
      try ChildProcess(
        program, ["write", store.name, folder.path, "\(start)", "\(count)", loss.rawValue], output: .read)
    }
    // Numbers of other processes replace each other.
    var accepted: [Int] = []
    for process in processes {
      var output = ""
      if loss == .killed {
        let enough = Int.random(in: 1...30)
        while output.split(separator: "\n").count < enough, let bytes = process.read() {
          output += String(decoding: bytes, as: UTF8.self)
        }
        process.kill()
      }
      output += String(decoding: process.readToEnd(), as: UTF8.self)
      _ = process.succeeds()
      let numbers = output.split(separator: "\n").map(String.init)
      if let other = numbers.first(where: { Int($0) == nil }) { return [other] }
      accepted += numbers.compactMap { Int($0) }
    }
    chmod(folder.path, 0o700)
    for file in try files(in: folder) { chmod(file.path, 0o600) }
    guard store.hasOnlyLast else { return await missing(accepted, of: store, in: folder) }
    // The archive that was written last is one of these, or one whose line was not printed any more.
    let stored = try await store.open(folder).stored()
    let isKnown = stored.contains { number in loss == .killed ? number >= accepted.last ?? 0 : accepted.contains(number)
    }
    return isKnown ? [] : ["the archive has \(stored), though \(accepted.suffix(3)) were written"]
  }
}
#endif
