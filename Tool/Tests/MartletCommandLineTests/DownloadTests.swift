@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Downloads", .timeLimit(.minutes(5)))
struct DownloadTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  @Test(
    arguments: [
      (#"attachment; filename="report.pdf""#, "report.pdf"), ("attachment; filename=report.pdf", "report.pdf"),
      (#"attachment; filename="../../etc/passwd""#, "passwd"), (#"attachment; filename="C:\\x\\a.txt""#, "a.txt"),
      (#"attachment; filename=".bashrc""#, "bashrc"), (#"attachment; filename="-rf""#, "rf"),
      ("attachment; filename=a.txt; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
      ("attachment; filename*=UTF-8''..%2F..%2Fx", "x"), (#"attachment; filename="..""#, nil), ("attachment", nil),
      ("inline; filename*=UTF-8''%E2%80%AEfdp.exe", "fdp.exe"), (#"attachment; filename="a/""#, "a"),
      ("attachment; filename*=ISO-8859-1'en'na%EFve.txt", "naïve.txt"),
      ("attachment; filename*=iso-8859-1''cost-%A3.txt; filename=plain.txt", "cost-£.txt"),
      ("attachment; filename*=UTF-8''na%EFve.txt; filename=plain.txt", "plain.txt"),
      ("attachment; filename=plain.txt; filename*=UTF-8''a%oo.txt", "plain.txt"),
      ("attachment; filename*=UTF-8''a%; filename=plain.txt", "plain.txt"),
      ("attachment; filename*=UTF-8'a.txt; filename=plain.txt", "plain.txt"),
      ("attachment; filename*=koi8-r''%C1.txt; filename=plain.txt", "plain.txt"),
      ("attachment; filename*=UTF-8''A-%2541.txt", "A-%41.txt"),
      // characters before a combining mark are the same bytes
      ("attachment; filename*=UTF-8''..%2F%CC%81x", "\u{301}x"),
      ("attachment; filename*=UTF-8''.%CC%81bashrc", "\u{301}bashrc"),
    ] as [(String, String?)])
  func theNameOfAServerIsNeverAPath(disposition: String, name: String?) {
    #expect(DownloadName.suggested(by: disposition) == name)
  }

  @Test(arguments: [
    (["attachment; filename=foo.html", "attachment; filename=bar.html"], "foo.html"),
    (["attachment; filename=foo.html, attachment; filename=bar.html"], "foo.html"),
    (["inline", "attachment; filename=bar.html"], "bar.html"), (["inline, Attachment ;filename=bar.html"], "bar.html"),
    (["attachment; filename=\"a, inline.txt\" , inline"], "a, inline.txt"),
    (["attachment; filename=foo, bar.html"], "foo, bar.html"), (["attachment, inline"], "x.bin"),
    (["attachment; filename=a, inline, b.html"], "a"),
  ])
  func ofSeveralDispositionsOneNamesTheFile(lines: [String], name: String) throws {
    var fields = HTTPFields()
    for line in lines { fields.append(line, for: .contentDisposition) }
    #expect(DownloadName.name(fields, try #require(URL(string: "http://h/x.bin"))) == name)
  }

  @Test(arguments: [
    ("http://h/a/film.mp4?x=1", "film.mp4"), ("http://h/", "download"), ("http://h/a/", "a"),
    ("http://h/%2e%2e%2fx", "x"), ("http://h/a%20b", "a b"),
  ])
  func theURLNamesWhatTheServerDoesNot(url: String, name: String) throws {
    #expect(DownloadName.name([:], try #require(URL(string: url))) == name)
  }

  @Test func longNamesKeepTheirEnd() throws {
    let name = try #require(DownloadName.checked(String(repeating: "ä", count: 300) + ".tar"))
    #expect(name.utf8.count <= 200 && name.hasSuffix("ä.tar"))
    for marks in ["", "e"].map({ $0 + String(repeating: "\u{301}", count: 3000) }) {
      let name = try #require(DownloadName.checked(marks + ".tar"))
      #expect(name.utf8.count > 190 && name.utf8.count <= 200 && name.hasSuffix(".tar"))
    }
    #expect(DownloadName.numbered("a.tar", 2) == "a-2.tar")
    #expect(DownloadName.numbered("a", 0) == "a")
  }

  @Test func aFileThatExistsIsNotReplaced() async throws {
    let server = try LoopbackServer { _ in .text("new").with(.contentDisposition, "attachment; filename=\"../a.txt\"") }
    try run.folder.write(Data("old".utf8), to: "a.txt")
    #expect(try await run("get", ":\(server.port)/x", "--download").errors.text == "a-1.txt: 3 B\n")
    #expect(try run.text(of: "a.txt") == "old")
    #expect(try run.text(of: "a-1.txt") == "new")
    #expect(try await run("get", ":\(server.port)/x", "--download", "--overwrite").code == .success)
    #expect(try run.text(of: "a.txt") == "new")
    #expect(try run.folder.names() == ["a-1.txt", "a.txt"])
    let chosen = try await run("get", ":\(server.port)/x", "--download", "-o", "a.txt")
    #expect(chosen.code == .failure)
  }

  private static let film = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })

  /// A server of the film that closes the connection after 1,000 bytes, unless the rest is requested.
  private static func cuttingServer() throws -> LoopbackServer {
    try LoopbackServer { request in
      let whole = Reply.data(film).with(.eTag, "\"1\"")
      guard request.fields[.range] == "bytes=1000-" else { return whole.truncated(after: 1000) }
      return .data(film.dropFirst(1000), status: .partialContent).with(.eTag, "\"1\"")
        .with(.contentRange, "bytes 1000-4999/5000")
    }
  }

  @Test func theSameCommandContinues() async throws {
    let server = try Self.cuttingServer()
    let first = try await run("get", ":\(server.port)/film.bin", "--download")
    #expect(first.code == .connection)
    #expect(first.errors.text.contains("1 kB of 5 kB are kept: the same command continues"))
    let kept = try run.folder.names()
    #expect(kept.count == 2 && kept.allSatisfy { $0.hasPrefix(".film.bin.") })
    let second = try await run("get", ":\(server.port)/film.bin", "--download")
    #expect(second.errors.text == "film.bin: 5 kB\n")
    #expect(try Data(contentsOf: run.folder.file("film.bin")) == Self.film)
    #expect(try run.folder.names() == ["film.bin"])
  }

  @Test func aRetryContinuesACutDownload() async throws {
    let server = try Self.cuttingServer()
    let result = try await run("get", ":\(server.port)/film.bin", "--download", "--retry", "1")
    #expect(result.errors.text == "film.bin: 5 kB\n")
    #expect(try Data(contentsOf: run.folder.file("film.bin")) == Self.film)
    #expect(try run.folder.names() == ["film.bin"])
  }

  @Test func aDownloadToADeviceShowsTheHeadThatIsAskedFor() async throws {
    let server = try LoopbackServer { $0.path == "/no" ? .text("no", status: .notFound) : .text("hi") }
    let head = try await run("-hdo", "/dev/null", ":\(server.port)/a")
    #expect(head.code == .success && head.text.hasPrefix("HTTP/1.1 200 OK\n") && !head.text.hasSuffix("hi"))
    #expect(try await run("-do", "/dev/null", ":\(server.port)/no").code == .clientError)
    let file = try await run("-hd", ":\(server.port)/a")
    #expect(file.text == head.text)
    #expect(try run.folder.names() == ["a"])
  }

  @Test func aDashIsStandardOutputForADownloadToo() async throws {
    let server = try LoopbackServer { request in
      request.path == "/no" ? .text("no", status: .notFound) : .json(#"{"a":1}"#)
    }
    let result = try await run("get", ":\(server.port)/a", "--download", "-o", "-", isTerminal: true)
    #expect(result.code == .success && result.text == #"{"a":1}"#)
    let refused = try await run("get", ":\(server.port)/no", "--download", "-o", "-")
    #expect(refused.code == .clientError && refused.text.isEmpty)
    #expect(try run.folder.names().isEmpty)
  }

  @Test func bytesOfAnotherURLAreRemovedWhenTheFileIsDownloadedAnew() async throws {
    let server = try LoopbackServer { request in
      let reply = Reply.data(Data(count: 5000)).with(.eTag, "\"1\"")
      return request.path == "/cut" ? reply.truncated(after: 1000) : reply
    }
    let first = try await run("get", ":\(server.port)/cut", "--download", "-o", "a.bin")
    #expect(first.errors.text.contains("are kept"))
    #expect(try await run("get", ":\(server.port)/whole", "--download", "-o", "a.bin").code == .success)
    #expect(try run.folder.names() == ["a.bin"])
  }

  /// As in curl: a server may label archives so, and the name would be wrong for a decoded one.
  @Test(arguments: ["--download", "-O"])
  func anArchiveIsNotDecoded(option: String) async throws {
    let archive = Data(base64Encoded: "H4sIAAAAAAAC/8tIzcnJV8igOwkAL/r4SHgAAAA=") ?? Data()
    let server = try LoopbackServer { _ in .data(archive).with(.contentEncoding, "gzip") }
    #expect(try await run("get", ":\(server.port)/x.tar.gz", option).code == .success)
    #expect(try Data(contentsOf: run.folder.file("x.tar.gz")) == archive)
    #expect(server.requests.map { $0.fields[.acceptEncoding] } == ["identity"])
  }

  @Test func aStatusThatIsAnErrorLeavesNoFile() async throws {
    let server = try LoopbackServer { _ in .text("no", status: .notFound) }
    #expect(try await run("get", ":\(server.port)/a", "--download").code == .clientError)
    #expect(try run.folder.names().isEmpty)
  }

  @Test func progressFitsTheTerminal() {
    let half = Event.Progress(.received, completed: 500_000, total: 1_000_000)
    let line = DownloadProgress.line(half, elapsed: .seconds(1), columns: 80)
    #expect(line == "[██████████████████░░░░░░░░░░░░░░░░░] 50 %  500 kB of 1 MB  500 kB/s  1 s left")
    #expect(
      DownloadProgress.line(half, elapsed: .seconds(1), columns: 30)
        == "50 %  500 kB of 1 MB  500 kB/s  1 s left")
    let unknown = Event.Progress(.received, completed: 3000, total: nil)
    #expect(DownloadProgress.line(unknown, elapsed: .zero, columns: 80) == "3 kB")
  }

  @Test func progressTowardsAnyAnnouncedLengthCanBeShown() {
    var endless = Event.Progress(.received, completed: 1, total: .max)
    let line = DownloadProgress.line(endless, elapsed: .seconds(1000), columns: 30)
    #expect(line.hasSuffix("  1000000000 s left"))
    // the speed is that of the bytes that arrived now
    (endless.completed, endless.total, endless.offset) = (2, nil, 1)
    #expect(DownloadProgress.line(endless, elapsed: .seconds(1), columns: 80) == "2 B  1 B/s")
  }

  @Test func progressIsShownOnATerminalAndRemoved() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 10_000)) }
    let errors = try await run("get", ":\(server.port)/a.bin", "--download", isTerminal: true).errors.text
    #expect(errors.contains("10 kB of 10 kB"))
    #expect(errors.hasSuffix("\r\u{1B}[Ka.bin: 10 kB\n"))
  }

  @Test func theProgressOfADownloadToStandardOutputIsRemovedToo() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 10_000)) }
    let errors = try await run("get", ":\(server.port)/a.bin", "--download", "-o", "-", isTerminal: true).errors.text
    #expect(errors.contains("10 kB of 10 kB"))
    #expect(errors.hasSuffix("\r\u{1B}[K"))
  }

  @Test func aQuietDownloadSaysNothing() async throws {
    let server = try LoopbackServer { _ in .text("new") }
    let result = try await run("get", ":\(server.port)/a.txt", "--download", "--quiet")
    #expect(result.code == .success && result.errors.text.isEmpty)
    #expect(try run.text(of: "a.txt") == "new")
  }
}
