@testable import MartletCommandLine
import Foundation
import Glibc
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import Testing

@Suite("Files that options write", .timeLimit(.minutes(5)))
struct FileTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private static let notes = "buy tea\n"
  private static let foreignArchive =
    #"{"log":{"version":"1.2","creator":{"name":"Firefox","version":"1"},"entries":[]}}"#

  @Test(arguments: [
    ("--cookies", notes), ("--cookies", "# Plans\n## For May\n"),
    ("--cookies", "h\tFALSE\t/\tFALSE\t0\t__Host-a\t1\n"),
    ("--cookies", "h\tFALSE\t/\tFALSE\t0\ta\t1\nnonsense\n"),
    ("--har", notes), ("--har", "{}"), ("--har", foreignArchive), ("--timeline", notes),
    ("--timeline", "<!DOCTYPE html>\n<html lang=\"en\">\n</html>\n"),
  ])
  func noOptionReplacesAFileThatItDidNotWrite(option: String, text: String) async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "b=2") }
    try run.folder.write(Data(text.utf8), to: "kept")
    let refused = try await run("get", ":\(server.port)/", option, "kept")
    #expect(refused.code == .failure)
    #expect(refused.errors.text.contains("'kept'") && refused.errors.text.contains("--overwrite"))
    #expect(try run.text(of: "kept") == text)
    #expect(server.requests.isEmpty)

    #expect(try await run("get", ":\(server.port)/", option, "kept", "--overwrite").code == .success)
    #expect(try run.text(of: "kept") != text)
  }

  @Test(arguments: ["--cookies", "--har", "--timeline"])
  func anOptionReplacesItsOwnFileAndAnEmptyOne(option: String) async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "b=2") }
    try run.folder.write(Data(), to: "a")
    for _ in 1...2 { #expect(try await run("get", ":\(server.port)/", option, "a").code == .success) }
    #expect(try await run("get", ":\(server.port)/", option, "new").code == .success)
    #expect(try run.folder.names() == ["a", "new"])
  }

  @Test(arguments: ["--har", "--timeline"])
  func aPipeIsNotReplaced(option: String) async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    #expect(mkfifo(run.folder.file("pipe").path, 0o600) == 0)
    let result = try await run("get", ":\(server.port)/", option, "pipe", "--overwrite")
    #expect(result.code == .failure)
    #expect(result.errors.text == "martlet: 'pipe' is not a regular file: name another\n")
  }

  @Test(arguments: ["--output", "--download"])
  func aPipeInPlaceOfTheOutputStays(option: String) async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.contentDisposition, "attachment; filename=pipe") }
    let pipe = run.folder.file("pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    if option == "--download" {
      let result = try await run("get", ":\(server.port)/", "--download", "--overwrite")
      #expect(result.code != .success && result.errors.text.contains("'\(pipe.path)' is not a regular file"))
    } else {
      async let result = run("get", ":\(server.port)/", "-o", "pipe", "--overwrite")
      #expect(await content(of: pipe) == "hi")
      #expect(try await result.code == .success)
    }
    var status = stat()
    #expect(lstat(pipe.path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
  }

  private func content(of pipe: URL) async -> String {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "reader").async {
        let data = try? FileHandle(forReadingFrom: pipe).readToEnd()
        continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
      }
    }
  }

  /// `@<(command)` is such a pipe.
  @Test(arguments: [["put", "@pipe"], ["post", "--form", "f@pipe"], ["put", "--upload-file", "pipe"]])
  func aPipeIsABodyThatIsReadOnce(arguments: [String]) async throws {
    let server = try LoopbackServer { request in .data(request.body) }
    let pipe = run.folder.file("pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let content = String(repeating: "content ", count: 20_000)
    DispatchQueue(label: "writer").async {
      try? FileHandle(forWritingTo: pipe).write(contentsOf: Data(content.utf8))
    }
    let result = try await run.run([arguments[0], ":\(server.port)/"] + arguments.dropFirst())
    #expect(result.code == .success)
    #expect(result.text.contains(content))
    #expect(server.requests.first?.fields[.transferEncoding] == "chunked")
    if arguments.contains("--form") { #expect(result.text.contains("filename=\"pipe\"")) }
  }

  /// The system makes it when it is read: its size is 0.
  @Test(
    .enabled(if: (try? String(contentsOfFile: "/proc/version", encoding: .utf8)) != nil),
    arguments: [["put", "@/proc/version"], ["post", "--form", "f@/proc/version"], ["put", "@-"]])
  func aFileOfTheSystemIsSentWhole(arguments: [String]) async throws {
    let server = try LoopbackServer { request in .data(request.body) }
    let words = [arguments[0], ":\(server.port)/"] + arguments.dropFirst()
    let result = try await run.run(words, input: "/proc/version")
    #expect(result.text.contains(try String(contentsOfFile: "/proc/version", encoding: .utf8)))
  }

  @Test func twoOptionsDoNotReplaceEachOthersFile() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    #expect(try await run("get", ":\(server.port)/", "-o", "a", "--har", "a").code == .failure)
    #expect(try run.text(of: "a") == "hi")
  }

  @Test func aRecordingDoesNotReplaceAFileThatItDidNotWrite() async throws {
    try run.folder.write(Data(Self.notes.utf8), to: "notes.txt")
    let result = try await run("record", "--origin", "http://127.0.0.1:1", "--har", "notes.txt", "--port", "65536")
    #expect(result.errors.text.contains("'notes.txt' exists and is not a martlet archive"))
  }

  /// All runs have read the file before one of them writes it.
  @Test(arguments: ["--cookies", "--session"])
  func runsAtTheSameTimeKeepEachOthersCookies(option: String) async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      .text("hi").with(.setCookie, "c\(request.path.dropFirst())=1").held(by: gate)
    }
    let run = run
    try await withThrowingTaskGroup(of: ExitCode.self) { group in
      for number in 1...20 {
        group.addTask {
          try await run("get", ":\(server.port)/\(number)", option, "jar", "X-\(number):1").code
        }
      }
      _ = try await server.request(20)
      gate.open()
      for try await code in group { #expect(code == .success) }
    }
    _ = try await run("get", ":\(server.port)/0", option, "jar")
    let last = try await server.request(21).fields
    #expect(last[.cookie]?.split(separator: ";").count == 20)
    if option == "--session" { #expect(try (1...20).allSatisfy { last[try FieldName("X-\($0)")] == "1" }) }
  }

  @Test func aCookieThatAServerRemovesIsRemovedFromTheFile() async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "a=; Max-Age=0") }
    let lines = "localhost\tFALSE\t/\tFALSE\t0\ta\t1\nlocalhost\tFALSE\t/\tFALSE\t0\tb\t1\n"
    try run.folder.write(Data(lines.utf8), to: "c.txt")
    #expect(try await run("get", ":\(server.port)/", "--cookies", "c.txt").code == .success)
    let text = try run.text(of: "c.txt")
    #expect(!text.contains("\ta\t1") && text.contains("\tb\t1"))
    #expect(try run.folder.names() == ["c.txt"])
  }

  @Test func eachFileIsWrittenEvenIfAnotherCannotBe() async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "b=2") }
    let result = try await run(
      "get", ":\(server.port)/", "--har", "none/a.har", "--timeline", "t.html", "--cookies", "none/c.txt", "--session",
      "./s.json")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("/none/a.har' cannot be written: No such file or directory"))
    #expect(try run.folder.names().filter { $0 != ".config" } == ["s.json", "t.html"])
  }

  @Test func anErrorOfALockNamesTheFileThatTheUserGave() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let result = try await run("get", ":\(server.port)/", "--cookies", "none/c.txt")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("/none/c.txt' cannot be written: No such file or directory"))
  }

  @Test(arguments: [["--cache", "/dev/null/kept"], ["--session", "/dev/null/kept/s.json"], ["--session", "ada"]])
  func aFolderThatCannotBeMadeIsNamedBeforeAnythingIsSent(options: [String]) async throws {
    let run = try TestRun(environment: ["XDG_CONFIG_HOME": "/dev/null"])
    let server = try LoopbackServer { _ in .text("hi") }
    let result = try await run.run(["get", ":\(server.port)/"] + options)
    #expect(result.code == .failure)
    #expect(result.errors.text.hasPrefix("martlet: the folder '/dev/null/"))
    #expect(result.errors.text.hasSuffix("' cannot be made: Not a directory\n"))
    #expect(server.requests.isEmpty)
  }

  @Test func aLockThatIsNotReleasedIsAnErrorThatNamesIt() async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "b=2") }
    let lock = open(run.folder.file(".c.txt.lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    let clock = ManualClock()
    let result = Task { [run] in try await run("get", ":\(server.port)/", "--cookies", "c.txt", clock: clock) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(11))
    #expect(try await result.value.code == .failure)
    #expect(try await result.value.text == "hi")
    #expect(try await result.value.errors.text.contains("another run has held"))
    #expect(try run.folder.names() == [".c.txt.lock"])
  }
}
