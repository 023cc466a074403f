import CallDoubles
import Foundation
@_spi(Toolkit) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DownloadTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var names: [String] { (try? folder.names()) ?? [] }

  private func session(_ source: any BodySource, status: HTTPStatus = .ok) -> HTTPSession {
    HTTPSession(
      transport: TestTransport { _ in HTTPResponse(status: status, body: ResponseBody(from: source), url: origin) })
  }

  @Test func theFileAppearsWhole() async throws {
    let file = folder.file("a b ü.txt")
    try Data("old".utf8).write(to: file)

    let response = try await session(WatchedSource(["new ", "content"]))
      .download(for: HTTPRequest(.get, origin), to: file)

    #expect(response.status == .ok)
    #expect(try String(contentsOf: file, encoding: .utf8) == "new content")
    #expect(names == ["a b ü.txt"])
  }

  @Test func theFileMayHaveTheLongestNameThatThereIs() async throws {
    let name = String(repeating: "👩‍👩‍👧‍👦", count: 10) + "abcde"
    #expect(name.utf8.count == 255)

    _ = try await session(WatchedSource(["content"]))
      .download(for: HTTPRequest(.get, origin), to: folder.file(name))

    #expect(names == [name])
  }

  @Test func aFailedDownloadLeavesNothingBehind() async throws {
    struct Broken: BodySource {
      func next() async throws -> Data? { throw HTTPError(.connectionLost, "the cable was cut") }
    }
    let file = folder.file("file")

    let error = await #expect(throws: HTTPError.self) {
      try await session(Broken()).download(for: HTTPRequest(.get, origin), to: file)
    }

    #expect(error?.kind == .connectionLost)
    #expect(names.isEmpty)
  }

  /// A year of two digits is the latest one that is at most 50 years in the future. In 1999, that is 1970, and the date
  /// is a validator.
  @Test func theCenturyOfAValidatorFollowsFromTheSessionsTime() async throws {
    var configuration = SessionConfiguration()
    configuration.now = { Date(timeIntervalSince1970: 946_000_000) }
    let half = MockResponse(
      fields: [.lastModified: "Thursday, 01-Jan-70 00:00:00 GMT", .date: "Fri, 24 Dec 1999 01:46:40 GMT"]
    ) { ResponseBody(length: 10, from: WatchedSource(["half"])) }
    let session = HTTPSession(transport: ScriptedTransport(half), configuration: configuration)

    let error = await #expect(throws: HTTPError.self) {
      try await session.resumableDownload(for: HTTPRequest(.get, origin), to: folder.file("file"))
    }

    #expect(error?.resumption?.byteCount == 4)
  }

  @Test func aStatusThatIsNoSuccessWritesNoFile() async throws {
    let response = try await session(WatchedSource(["not here"]), status: .notFound)
      .download(for: HTTPRequest(.get, origin), to: folder.file("file"), expecting: .any)

    #expect(response.status == .notFound)
    #expect(try await response.body.collect(upTo: 100) == Data("not here".utf8))
    #expect(names.isEmpty)
  }

  @Test func aPlaceThatCannotBeWrittenIsNamedBeforeAnythingIsSent() async throws {
    let transport = ScriptedTransport(.text("content"))
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession(transport: transport)
        .download(for: HTTPRequest(.get, origin), to: URL(filePath: "/nowhere/at/all"))
    }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("/nowhere/at/all") == true)
    #expect(error?.request?.url == origin)
    #expect(transport.requests.isEmpty)
  }

  /// If it appears during the download, the request counts as sent.
  @Test(arguments: [true, false])
  func aFolderIsNotReplaced(isThereBefore: Bool) async throws {
    let place = folder.file("folder")
    let looking = Looking {
      try? FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
    }
    if isThereBefore { looking.look() }

    let error = await #expect(throws: HTTPError.self) {
      try await session(looking).download(for: HTTPRequest(.post, origin), to: place)
    }

    #expect(error?.kind == .file)
    #expect(error?.phase == (isThereBefore ? .preparing : .receiving))
    #expect(error?.isUnsent == isThereBefore)
    #expect(names == ["folder"])
  }

  /// An empty body that calls a closure when it is read.
  private struct Looking: BodySource {
    let look: @Sendable () -> Void
    func next() async throws -> Data? {
      look()
      return nil
    }
  }

  private func permissions(of file: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
  }

  @Test(arguments: [0o600, 0o640, 0o777])
  func theFileThatIsReplacedPassesItsPermissionsOn(mode: Int) async throws {
    let file = folder.file("file")
    try Data("old".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)

    _ = try await session(WatchedSource(["new"])).download(for: HTTPRequest(.get, origin), to: file)

    #expect(try String(contentsOf: file, encoding: .utf8) == "new")
    #expect(try permissions(of: file) == mode)
  }

  @Test func noStrangerReadsThePartialFileOfAPrivateOne() async throws {
    let file = folder.file("file")
    try Data("old".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    let seen = Mutex<[Int?]>([])

    let looking = Looking { [folder] in
      let names = (try? folder.names().filter { $0.hasSuffix(".partial") }) ?? []
      seen.withLock { $0 += names.map { try? permissions(of: folder.file($0)) } }
    }
    _ = try await session(looking).download(for: HTTPRequest(.get, origin), to: file)

    #expect(seen.withLock { $0 } == [0o600])
  }

  @Test(arguments: ["old", nil])
  func aLinkStaysAndTheFileItLeadsToIsWritten(content: String?) async throws {
    let files = try TemporaryFolder()
    if let content { try Data(content.utf8).write(to: files.file("target")) }
    for (name, target) in [("link", folder.file("next").path), ("next", files.file("target").path)] {
      try FileManager.default.createSymbolicLink(atPath: folder.file(name).path, withDestinationPath: target)
    }

    _ = try await session(WatchedSource(["new"])).download(for: HTTPRequest(.get, origin), to: folder.file("link"))

    #expect(try String(contentsOf: files.file("target"), encoding: .utf8) == "new")
    #expect(names.sorted() == ["link", "next"])
    #expect(try files.names() == ["target"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path).hasSuffix("next"))
  }

  /// `..` is the folder above the one that `current` leads to, not the one above `current`.
  @Test func aLinkLeadsUpwardsFromTheFolderThatItIsIn() async throws {
    let app = folder.file("app")
    for name in ["shared", "releases/5"] {
      try FileManager.default.createDirectory(at: app.appending(path: name), withIntermediateDirectories: true)
    }
    for (name, target) in [("current", "releases/5"), ("releases/5/data", "../../shared/data")] {
      try FileManager.default.createSymbolicLink(
        atPath: app.appending(path: name).path, withDestinationPath: target)
    }

    _ = try await session(WatchedSource(["new"]))
      .download(for: HTTPRequest(.get, origin), to: app.appending(path: "current/data"))

    #expect(try String(contentsOf: app.appending(path: "shared/data"), encoding: .utf8) == "new")
    #expect(try FileManager.default.contentsOfDirectory(atPath: app.appending(path: "releases/5").path) == ["data"])
    #expect(names == ["app"])
  }

  @Test func linksThatLeadInACircleAreAnError() async throws {
    let link = folder.file("link")
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "link")
    let error = await #expect(throws: HTTPError.self) {
      try await session(WatchedSource(["new"])).download(for: HTTPRequest(.get, origin), to: link)
    }
    #expect(error?.kind == .file)
    #expect(error?.message.lowercased().contains("symbolic link") == true)
    #expect(error?.isUnsent == true)
    #expect(names == ["link"])
  }
}
