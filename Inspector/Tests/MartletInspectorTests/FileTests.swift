import MartletEngine
@testable import MartletInspector
import MartletObservation
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Calls that are kept in a file", .timeLimit(.minutes(5)))
struct InspectorFileTests {
  private let folder: TemporaryFolder
  private let file: URL

  init() throws {
    folder = try TemporaryFolder()
    file = folder.url.appending(path: "calls")
  }

  private func run(_ place: URL? = nil, limit: Int = 64 << 20) throws -> InspectorRun {
    try InspectorRun {
      $0.file = place ?? file
      $0.fileLimit = limit
    }
  }

  private func urls(_ run: InspectorRun) -> [String] {
    run.inspector.log.state.calls.map { $0.request.url.absoluteString }
  }

  private func call(_ path: String, _ run: InspectorRun) async {
    var request = HTTPRequest(.post, "http://a.example/\(path)?token=secret")
    request.options.label = "label of \(path)"
    request.body = .data(Data("<password>secret</password>".utf8))
    await run.call(request, ScriptedTransport(.text("body of \(path)")))
  }

  /// The file at this moment, as a process that is killed leaves it.
  private func copy() throws -> URL {
    let copy = folder.url.appending(path: "copy-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.copyItem(at: file, to: copy)
    return copy
  }

  @Test func aCallThatHasEndedIsThereAfterAKill() async throws {
    let first = try run()
    for path in ["1", "2"] {
      await call(path, first)
      let second = try run(try copy())
      #expect(urls(second).last == "http://a.example/\(path)?token=***")
      #expect(second.ids.allSatisfy { $0 > 1 << 50 })
      let id = try #require(second.ids.last)
      #expect(try await second.text("/calls/\(id)/1/response") == "body of \(path)")
      #expect(second.inspector.log.state.calls.last?.label == "label of \(path)")
    }
    let status = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(status[.posixPermissions] as? Int == 0o600)
    #expect(!String(decoding: try Data(contentsOf: file), as: UTF8.self).contains("secret"))
  }

  @Test func attemptsAndTheirReasonsAreKept() async throws {
    let first = try run()
    await first.call(
      HTTPRequest(.get, "http://a.example/old"), ScriptedTransport(.redirect(to: "/new"), .text("the new page")))
    let log = try run(try copy()).inspector.log
    let details = CallDetails(try #require(log.state.calls.first), log)
    #expect(details.summary.attempts == 2 && details.summary.status == 200)
    #expect(details.lines.map(\.text) == ["302 redirect to http://a.example/new"])
  }

  @Test func callsOfSeveralRunsAreKeptInTheirOrder() async throws {
    for path in ["1", "2", "3"] {
      let run = try run()
      await call(path, run)
      run.inspector.close()
    }
    let last = try run()
    #expect(urls(last) == ["1", "2", "3"].map { "http://a.example/\($0)?token=***" })
    let starts = last.inspector.log.state.calls.map(\.start)
    #expect(starts == starts.sorted() && starts.allSatisfy { $0 < .zero })
  }

  @Test func aRecordThatWasCutOffOrDamagedSpoilsNoOther() async throws {
    let first = try run()
    for path in ["1", "2", "3"] { await call(path, first) }
    first.inspector.close()
    let whole = try Data(contentsOf: file)
    let second = try #require(whole.firstRange(of: Data("label of 2".utf8)))
    var damaged = whole
    damaged[second.lowerBound] ^= 0x80
    for (bytes, kept) in [(whole.dropLast(20), ["1", "2"]), (damaged, ["1", "3"])] {
      try Data(bytes).write(to: file)
      let next = try run()
      #expect(urls(next) == kept.map { "http://a.example/\($0)?token=***" })
      await call("4", next)
      next.inspector.close()
      let last = try run()
      #expect(urls(last).last == "http://a.example/4?token=***")
      #expect(urls(last).count == kept.count + 1)
      last.inspector.close()
    }
  }

  @Test(arguments: ["remove", "replace", "cut"])
  func aFileThatIsLostWhileItIsOpenIsWrittenAgain(_ loss: String) async throws {
    let first = try run()
    await call("1", first)
    switch loss {
    case "remove": try FileManager.default.removeItem(at: file)
    case "replace": try Data().write(to: file, options: .atomic)
    default: try Data(try Data(contentsOf: file).prefix(30)).write(to: file)
    }
    await call("2", first)
    let second = try run(try copy())
    #expect(urls(second) == ["1", "2"].map { "http://a.example/\($0)?token=***" })
  }

  @Test func theFilesSizeIsBounded() async throws {
    let first = try run(limit: 64 << 10)
    for path in 1...300 { await call("\(path)", first) }
    let sizes = [file, URL(filePath: file.path + ".1")].map { (try? Data(contentsOf: $0).count) ?? 0 }
    #expect(sizes.allSatisfy { $0 > 0 } && sizes.reduce(0, +) <= 64 << 10)
    first.inspector.close()
    let second = try run(limit: 64 << 10)
    #expect(urls(second).last == "http://a.example/300?token=***")
    #expect(urls(second).count > 10 && urls(second).count < 300)
    #expect(second.inspector.log.heldBytes > 0)
  }

  @Test func clearingThePageClearsTheFile() async throws {
    let first = try run()
    for path in ["1", "2"] { await call(path, first) }
    #expect(try await first.status(first.request("/pin/\(first.ids[0])", .post)) == .noContent)
    #expect(try await first.status(first.request("/clear", .post)) == .noContent)
    await call("3", first)
    let second = try run(try copy())
    #expect(urls(second) == ["1", "3"].map { "http://a.example/\($0)?token=***" })
  }

  @Test func anotherProgramsFileIsNotTouched() throws {
    try Data("a letter".utf8).write(to: file)
    #expect(throws: HTTPError.self) { try run() }
    #expect(try Data(contentsOf: file) == Data("a letter".utf8))
    let link = folder.url.appending(path: "link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    #expect(throws: HTTPError.self) { try run(link) }
    #expect(throws: HTTPError.self) { try run(folder.url) }
    #expect(throws: HTTPError.self) { try run(folder.url.appending(path: "none/calls")) }
  }

  @Test func twoProgramsDoNotShareAFile() async throws {
    let first = try run()
    let error = #expect(throws: HTTPError.self) { try run() }
    #expect(error?.message.contains("in use by another program") == true)
    await call("1", first)
    first.inspector.close()
    #expect(urls(try run()).count == 1)
  }

  @Test func aFullDiskIsToldAndMendedLater() async throws {
    let first = try run()
    await call("1", first)
    let (body, _) = try await first.session.bytes(for: first.request("/changes"))
    var lines = body.lines.makeAsyncIterator()
    // A folder in the file's place: it cannot be written, until it is removed.
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    await call("2", first)
    while !(try #require(try await lines.next())).contains(#""problem":"the inspector's file"#) {}
    body.cancel()
    try FileManager.default.removeItem(at: file)
    await call("3", first)
    #expect(first.inspector.log.problem == nil)
    let second = try run(try copy())
    #expect(urls(second) == ["1", "2", "3"].map { "http://a.example/\($0)?token=***" })
  }

  @Test func theOptionsAreOff() {
    #expect(Inspector.Options().file == nil && !Inspector.Options().allowsResending)
    func keeping() -> Inspector.Options {
      var options = Inspector.Options()
      options.file = URL(filePath: "calls.inspector")
      return options
    }
    func resending() -> Inspector.Options {
      var options = Inspector.Options()
      options.allowsResending = true
      return options
    }
    #expect(keeping().fileLimit == 64 << 20 && resending().allowsResending)
  }
}
