import CallDoubles
import Foundation
@testable import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

#if canImport(Glibc)
import CFiles
import Glibc
#endif

/// What a download and other writers do with the file that is in their place.
@Suite(.timeLimit(.minutes(5)))
struct DestinationTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func session(_ source: any BodySource) -> HTTPSession {
    HTTPSession(
      transport: TestTransport { _ in HTTPResponse(status: .ok, body: ResponseBody(from: source), url: origin) })
  }

  private func download(_ chunks: [String] = ["new"], to file: URL) async throws {
    _ = try await session(WatchedSource(chunks)).download(for: HTTPRequest(.get, origin), to: file)
  }

  private func status(_ file: URL) -> stat {
    var status = stat()
    lstat(file.path, &status)
    return status
  }

  /// Makes a pipe, a socket, or a link to a pipe.
  private func special(_ kind: String) throws -> URL {
    let file = folder.file(kind)
    switch kind {
    case "socket": #expect(mknod(file.path, S_IFSOCK | 0o600, 0) == 0)
    case "link":
      #expect(mkfifo(folder.file("target").path, 0o600) == 0)
      try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "target")
    default: #expect(mkfifo(file.path, 0o600) == 0)
    }
    return file
  }

  /// Reads a pipe to its end, on a thread of its own.
  private func content(of pipe: URL) async -> Data {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "reader").async {
        let handle = try? FileHandle(forReadingFrom: pipe)
        continuation.resume(returning: (try? handle?.readToEnd()) ?? Data())
      }
    }
  }

  // MARK: - What is not a regular file

  @Test(arguments: ["pipe", "socket", "link"])
  func whatIsNotARegularFileIsNeverReplacedBySecrets(kind: String) async throws {
    let file = try special(kind)
    let before = status(file)

    let error = await #expect(throws: HTTPError.self) { try await CookieJar().exportNetscape(to: file) }

    #expect(error?.kind == .file)
    #expect(error?.message.contains("'\(file.path)' is not a regular file") == true)
    #expect(status(file).st_ino == before.st_ino)
    #expect(try folder.names().allSatisfy { !$0.hasSuffix(".partial") })
  }

  @Test func aSocketIsNotReplacedByADownload() async throws {
    let file = try special("socket")
    let error = await #expect(throws: HTTPError.self) { try await download(to: file) }
    #expect(error?.kind == .file && error?.isUnsent == true)
    #expect(status(file).st_mode & S_IFMT == S_IFSOCK)
  }

  @Test(arguments: ["pipe", "link"])
  func aPipeGetsTheBytesOfADownloadAndStays(kind: String) async throws {
    let file = try special(kind)
    let chunks = Array(repeating: String(repeating: "x", count: 50_000), count: 10)  // more than a pipe holds
    async let download: Void = download(chunks, to: file)
    let content = await content(of: file)
    try await download
    #expect(content.count == 500_000)
    #expect(try folder.names() == (kind == "link" ? ["link", "target"] : ["pipe"]))
    #expect(status(folder.file(kind == "link" ? "target" : "pipe")).st_mode & S_IFMT == S_IFIFO)
  }

  @Test func theReaderOfAPipeIsWaitedForUntilTheDownloadIsCancelled() async throws {
    let file = try special("pipe")
    let source = WatchedSource(["new"])
    let task = Task { try await session(source).download(for: HTTPRequest(.get, origin), to: file) }
    try await until { try await source.next() == nil }
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
  }

  @Test func aDeadlineEndsTheWaitForTheReaderOfAPipe() async throws {
    let file = try special("pipe")
    let clock = ManualClock()
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.options.deadline = .seconds(5)
    let session = HTTPSession(
      transport: TestTransport { _ in
        HTTPResponse(status: .ok, body: ResponseBody(from: WatchedSource(["new"])), url: origin)
      }, configuration: configuration)
    let task = Task { try await session.download(for: HTTPRequest(.get, origin), to: file) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(6))
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .deadlineExceeded)
  }

  @Test func aReaderOfAPipeThatGoesIsAnErrorAndNoSignal() async throws {
    let file = try special("pipe")
    let chunks = Array(repeating: String(repeating: "x", count: 50_000), count: 10)
    let task = Task { try await download(chunks, to: file) }
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "reader").async {
        let handle = try? FileHandle(forReadingFrom: file)
        _ = try? handle?.read(upToCount: 10)
        try? handle?.close()
        continuation.resume()
      }
    }
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("cannot be written: Broken pipe") == true)
  }

  @Test(.enabled(if: canMakeDevices)) func aDeviceGetsTheBytesAndStays() async throws {
    let file = folder.file("null")
    #expect(mknod(file.path, S_IFCHR | 0o666, dev_t(1 << 8 | 3)) == 0)
    let session = session(WatchedSource(["new"]))
    _ = try await session.download(for: HTTPRequest(.get, origin), to: file)
    _ = try await session.resumableDownload(for: HTTPRequest(.get, origin), to: file)
    #expect(status(file).st_mode & S_IFMT == S_IFCHR)
    #expect(try folder.names() == ["null"])
  }

  @Test func aPipeCannotBeVerified() async throws {
    let file = try special("pipe")
    let error = await #expect(throws: HTTPError.self) {
      try await session(WatchedSource(["new"])).download(for: HTTPRequest(.get, origin), to: file, verifying: .sent)
    }
    #expect(error?.kind == .file && error?.isUnsent == true)
  }

  // MARK: - What is replaced

  @Test(.enabled(if: geteuid() == 0)) func theFileThatIsReplacedPassesOnItsOwnerAndAttributes() async throws {
    let file = try folder.write(Data("old".utf8), to: "file")
    #expect(chown(file.path, 12_345, 54_321) == 0 && chmod(file.path, 0o640) == 0)
    let hasAttributes = setxattr(file.path, "user.martlet", "kept", 4, 0) == 0

    try await download(to: file)

    let status = status(file)
    #expect(try String(contentsOf: file, encoding: .utf8) == "new")
    #expect(status.st_uid == 12_345 && status.st_gid == 54_321 && status.st_mode & 0o7777 == 0o640)
    guard hasAttributes else { return }
    var value = [UInt8](repeating: 0, count: 8)
    #expect(getxattr(file.path, "user.martlet", &value, value.count) == 4 && value.starts(with: "kept".utf8))
  }

  @Test(.enabled(if: geteuid() == 0)) func secretsAreTheWritersAlone() async throws {
    let file = try folder.write(Data("old".utf8), to: "file")
    #expect(chown(file.path, 12_345, 54_321) == 0 && chmod(file.path, 0o644) == 0)
    try await CookieJar().exportNetscape(to: file)
    #expect(status(file).st_uid == 0 && status(file).st_mode & 0o7777 == 0o600)
  }

  @Test(arguments: [(0o664, 0o644), (0o640, 0o600), (0o755, 0o755), (0o604, 0o644)] as [(mode_t, mode_t)])
  func anotherGroupGetsNoMoreThanEverybody(old: mode_t, new: mode_t) {
    #expect(FileAttributes.permissions(old, isSameGroup: true) == old)
    #expect(FileAttributes.permissions(old, isSameGroup: false) == new)
  }

  @Test func allNamesOfAFileShowTheNewContent() async throws {
    let (file, other) = (try folder.write(Data("old content".utf8), to: "file"), folder.file("other"))
    try FileManager.default.linkItem(at: file, to: other)

    try await download(to: file)

    #expect(try String(contentsOf: file, encoding: .utf8) == "new")
    #expect(try String(contentsOf: other, encoding: .utf8) == "new")
    #expect(status(file).st_ino == status(other).st_ino)
    #expect(try folder.names() == ["file", "other"])
  }

  @Test func aSecretIsNotWrittenWhereAnotherNameLeads() async throws {
    let (file, other) = (try folder.write(Data("old".utf8), to: "file"), folder.file("other"))
    try FileManager.default.linkItem(at: file, to: other)
    try await CookieJar().exportNetscape(to: file)
    #expect(try String(contentsOf: other, encoding: .utf8) == "old")
  }

  #if canImport(Glibc)
  @Test(.enabled(if: geteuid() == 0), arguments: [true, false])
  func aMountPointIsOverwritten(isSecret: Bool) async throws {
    let (file, mounted) = (
      try folder.write(Data(), to: "file"), try folder.write(Data("old content".utf8), to: "mounted")
    )
    // A container without the right to mount files has no such test.
    guard mount(mounted.path, file.path, nil, UInt(MS_BIND), nil) == 0 else { return }
    defer { umount2(file.path, Int32(MNT_DETACH)) }

    if isSecret { try await CookieJar().exportNetscape(to: file) } else { try await download(to: file) }

    let content = try String(contentsOf: mounted, encoding: .utf8)
    #expect(content == (isSecret ? try await CookieJar().exportNetscape() : "new"))
    #expect(!isSecret || status(mounted).st_mode & 0o777 == 0o600)
    #expect(try folder.names() == ["file", "mounted"])
  }
  #endif
}

/// Whether this process may make devices, and use them, in the folder of temporary files.
private let canMakeDevices: Bool = {
  guard let folder = try? TemporaryFolder() else { return false }
  let file = folder.file("null")
  guard mknod(file.path, S_IFCHR | 0o600, dev_t(1 << 8 | 3)) == 0 else { return false }
  let descriptor = open(file.path, O_WRONLY)
  if descriptor >= 0 { close(descriptor) }
  return descriptor >= 0
}()
