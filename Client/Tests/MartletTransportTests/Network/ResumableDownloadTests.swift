import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ResumableDownloadTests {
  let session = HTTPSession.uncached()
  let folder: TemporaryFolder
  let content = Data.counting(300_000)

  init() throws { folder = try TemporaryFolder() }

  var file: URL { folder.file("file.bin") }
  private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? [] }

  /// Serves `content` with ranges, like `StaticFolder`. The first replies are cut off after the given numbers of bytes.
  func server(cuts: [Int64], change: @escaping @Sendable (Reply, Int) -> Reply = { reply, _ in reply }) throws
    -> LoopbackServer
  {
    let root = try TemporaryFolder()
    try root.write(content, to: "data")
    let count = Mutex(0)
    return try LoopbackServer { request in
      let number = count.withLock { count in
        defer { count += 1 }
        return count
      }
      let reply = change(StaticFolder(root.url).reply(to: request), number)
      return number < cuts.count ? reply.truncated(after: cuts[number]) : reply
    }
  }

  func request(_ server: LoopbackServer, resumptions: Int) -> HTTPRequest {
    var request = HTTPRequest(.get, server.url("/data"))
    request.options.downloadResumptions = resumptions
    return request
  }

  /// - Parameter ends: gets the error of each call at its end.
  private func request(_ server: LoopbackServer, reportingEndsTo ends: Log<HTTPError?>) -> HTTPRequest {
    var request = HTTPRequest(.get, server.url("/data"))
    request.options.listeners = [
      EventHandler(.finished) { event, _ in if case .finished(let error) = event { ends.append(error) } }
    ]
    return request
  }

  private func failure(
    _ server: LoopbackServer, resuming resumption: DownloadResumption? = nil
  ) async throws -> HTTPError {
    let request = HTTPRequest(.get, server.url("/data"))
    return try #require(
      await #expect(throws: HTTPError.self) {
        try await session.resumableDownload(for: request, to: file, resuming: resumption)
      })
  }

  @Test func downloadContinuesWhereItWasInterrupted() async throws {
    let server = try server(cuts: [100_000, 50_000])

    let first = try await failure(server)
    let saved = try JSONEncoder().encode(try #require(first.resumption))
    #expect(first.kind == .connectionLost)
    #expect(first.resumption?.byteCount == 100_000 && first.resumption?.size == 300_000)
    #expect(!names.contains("file.bin"))

    let second = try await failure(
      server, resuming: try JSONDecoder().decode(DownloadResumption.self, from: saved))
    #expect(second.resumption?.byteCount == 150_000)

    let response = try await session.resumableDownload(
      for: HTTPRequest(.get, server.url("/data")), to: file, resuming: second.resumption)
    #expect(response.status == .partialContent)
    #expect(try Data(contentsOf: file) == content)
    #expect(names == ["file.bin"])
    let requests = server.requests
    #expect(requests.map { $0.fields[.range] } == [nil, "bytes=100000-", "bytes=150000-"])
    #expect(requests.dropFirst().allSatisfy { $0.fields[.ifRange] == first.resumption?.validator })
    #expect(requests.allSatisfy { $0.fields[.acceptEncoding] == "identity" })
  }

  @Test func oneCallResumesAsOftenAsAllowed() async throws {
    let server = try server(cuts: [100_000, 50_000, 20_000])
    let request = self.request(server, resumptions: 3)

    let response = try await session.download(for: request, to: file)

    #expect(response.status == .partialContent)
    #expect(try Data(contentsOf: file) == content)
    #expect(server.requests.map { $0.fields[.range] } == [nil, "bytes=100000-", "bytes=150000-", "bytes=170000-"])
    #expect(names == ["file.bin"])
  }

  @Test func oneCallFailsAfterTheLastResumptionAndLeavesNoFile() async throws {
    let server = try server(cuts: [1000, 1000, 1000])
    let request = self.request(server, resumptions: 2)

    let error = await #expect(throws: HTTPError.self) { try await session.download(for: request, to: file) }

    #expect(error?.kind == .connectionLost)
    #expect(error?.resumption == nil)
    #expect(server.requests.count == 3)
    #expect(names.isEmpty)
  }

  /// Responses after which the download restarts, so that the file never has parts of two versions.
  @Test(arguments: ["changed", "refused", "ignored", "otherTag", "shifted", "tooLong", "encoded", "416"])
  func downloadRestartsIfTheRestIsInDoubt(_ doubt: String) async throws {
    let server = try server(cuts: [100_000]) { [content] reply, number in
      guard number == 1 else { return reply }
      var reply = reply
      switch doubt {
      case "changed": return .data(content).with(.eTag, #""new""#)
      case "refused": return .data(content)
      case "ignored": return .data(content).with(.eTag, reply.fields[.eTag] ?? "")
      case "otherTag": reply.fields[.eTag] = #""new""#
      case "shifted": reply.fields[.contentRange] = "bytes 100001-300000/300001"
      case "tooLong": reply.fields[.contentRange] = "bytes 100000-299999/300001"
      case "encoded": reply.fields[.contentEncoding] = "br"
      default: return .status(416, fields: [.contentRange: "bytes */200000"])
      }
      return reply
    }
    let resumption = try await failure(server).resumption

    let ends = Log<HTTPError?>()
    let response = try await session.resumableDownload(
      for: request(server, reportingEndsTo: ends), to: file, resuming: resumption)

    #expect(response.status == .ok)
    #expect(try Data(contentsOf: file) == content)
    #expect(names == ["file.bin"])
    #expect(ends.entries.allSatisfy { $0 == nil } && ends.entries.count == server.requests.count - 1)
  }

  @Test func withoutAStrongValidatorADownloadIsNotResumable() async throws {
    let server = try LoopbackServer { [content] _ in .data(content).with(.eTag, #"W/"a""#).truncated(after: 1000) }
    let error = try await failure(server)
    #expect(error.kind == .connectionLost)
    #expect(error.resumption == nil)
    #expect(names.isEmpty)
  }

  @Test func theDelaysDoubleWhileNothingIsReceived() async throws {
    let server = try server(cuts: [100_000, 0, 0, 50_000, 0]), clock = ManualClock()
    var configuration = SessionConfiguration()
    (configuration.clock, configuration.cache) = (clock, nil)
    configuration.options.retryPolicy.random = { 0.5 }
    let (session, request) = (
      HTTPSession(transport: SocketTransport(), configuration: configuration), request(server, resumptions: 5)
    )
    let download = Task { [file] in try await session.download(for: request, to: file) }

    for milliseconds in [500, 1000, 500] {
      try await clock.sleepers(1)
      #expect(clock.pendingWakeUps == [.milliseconds(milliseconds)])
      clock.advance(by: .milliseconds(milliseconds))
    }

    _ = try await download.value
    #expect(try Data(contentsOf: file) == content)
  }

  @Test func theErrorOfAnEndedPauseHasItsRequest() async throws {
    let server = try server(cuts: [100_000, 0, 0]), clock = ManualClock()
    var configuration = SessionConfiguration()
    (configuration.clock, configuration.cache) = (clock, nil)
    let (session, request) = (
      HTTPSession(transport: SocketTransport(), configuration: configuration), request(server, resumptions: 5)
    )
    let download = Task { [file] in try await session.download(for: request, to: file) }
    try await clock.sleepers(1)

    download.cancel()

    let error = await #expect(throws: HTTPError.self) { try await download.value }
    #expect(error?.kind == .cancelled && error?.request?.url == request.url)
    #expect((error?.underlying as? HTTPError)?.kind == .connectionLost)
  }

  @Test func cancelledDownloadCanBeResumed() async throws {
    let gate = Gate()
    let server = try server(cuts: []) { reply, number in number == 0 ? reply.stalled(after: 70_000) : reply }
    var request = HTTPRequest(.get, server.url("/data"))
    request.options.listeners = [
      EventHandler { event, _ in
        if case .progress(let progress) = event, progress.completed == 70_000 { gate.open() }
      }
    ]
    let task = Task { [request] in try await session.resumableDownload(for: request, to: file) }
    try await gate.wait()

    task.cancel()

    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(error?.resumption?.byteCount == 70_000)
    _ = try await session.resumableDownload(for: request, to: file, resuming: error?.resumption)
    #expect(try Data(contentsOf: file) == content)
  }

  /// Files that a forged or outdated resumption may name, none of which is the partial file.
  @Test(arguments: [
    "gone", "shorter", "longer", "replaced", "hard link", "symbolic link", "another folder", "another name",
    "another destination's", "a path in the name", "an earlier version's",
  ])
  func aFileOtherThanThePartialOneIsNotChanged(_ case: String) async throws {
    let server = try server(cuts: [100_000])
    let kept = try #require(try await failure(server).resumption)
    let (resumption, victim) = try misleading(kept, `case`)
    let before = try? Data(contentsOf: victim)

    _ = try await session.resumableDownload(
      for: HTTPRequest(.get, server.url("/data")), to: file, resuming: resumption)

    #expect(try Data(contentsOf: file) == content)
    #expect(server.requests.last?.fields[.range] == nil)
    #expect((try? Data(contentsOf: victim)) == before)
    // a partial file that was moved may be discarded in its new location
    guard !["another folder", "another destination's"].contains(`case`) else { return }
    resumption.discard()
    #expect((try? Data(contentsOf: victim)) == before)
  }

  /// Returns a resumption with another file than the partial one, and the file that must not be changed.
  private func misleading(_ kept: DownloadResumption, _ what: String) throws -> (DownloadResumption, victim: URL) {
    let files = FileManager.default
    let victim = folder.file("victim")
    let bytes = try Data(contentsOf: kept.file)
    switch what {
    case "gone":
      kept.discard()
      return (kept, kept.file)
    case "shorter":
      try bytes.dropLast().write(to: kept.file)
      return (kept, kept.file)
    case "longer":
      try (bytes + Data("more".utf8)).write(to: kept.file)
      return (kept, kept.file)
    case "replaced":
      try files.moveItem(at: kept.file, to: victim)
      try bytes.write(to: kept.file)
      return (kept, kept.file)
    case "hard link":
      try files.linkItem(at: kept.file, to: victim)
      return (kept, victim)
    case "symbolic link":
      try files.moveItem(at: kept.file, to: victim)
      try files.createSymbolicLink(at: kept.file, withDestinationURL: victim)
      return (kept, victim)
    case "an earlier version's":
      return (try changed(kept) { $0["identity"] = nil }, kept.file)
    default: break
    }
    let name = kept.file.lastPathComponent
    let place: URL
    switch what {
    case "another folder": place = try folder.write(Data(), to: "elsewhere/\(name)")
    case "another name": place = victim
    case "another destination's": place = folder.file(name.replacingOccurrences(of: "file.bin", with: "other.bin"))
    default: place = try folder.write(Data(), to: ".file.bin./\(name)")
    }
    try? files.removeItem(at: place)
    try files.moveItem(at: kept.file, to: place)
    let path = what == "a path in the name" ? "file://\(folder.url.path)/.file.bin.%2F\(name)" : place.absoluteString
    return (try changed(kept) { $0["file"] = path }, place)
  }

  private func changed(
    _ kept: DownloadResumption, _ change: (inout [String: Any]) -> Void
  ) throws -> DownloadResumption {
    let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(kept))
    var members = try #require(object as? [String: Any])
    change(&members)
    return try JSONDecoder().decode(
      DownloadResumption.self, from: JSONSerialization.data(withJSONObject: members))
  }

  @Test func discardingRemovesThePartialFile() async throws {
    let server = try server(cuts: [100_000])
    let resumption = try #require(try await failure(server).resumption)

    resumption.discard()

    #expect(names.isEmpty)
  }

  @Test func twoCannotResumeTheSameFile() async throws {
    let gate = Gate()
    let server = try server(cuts: [100_000]) { reply, number in
      number == 1 ? reply.stalled(after: 10, until: gate) : reply
    }
    let resumption = try #require(try await failure(server).resumption)
    let request = HTTPRequest(.get, server.url("/data"))
    let first = Task { try await session.resumableDownload(for: request, to: file, resuming: resumption) }
    _ = try await server.request(2)

    _ = try await session.resumableDownload(for: request, to: folder.file("second"), resuming: resumption)
    gate.open()
    _ = try await first.value

    #expect(try Data(contentsOf: file) == content)
    #expect(try Data(contentsOf: folder.file("second")) == content)
    #expect(server.requests.last?.fields[.range] == nil)
  }

  @Test func aCompletePartialFileIsFinishedByA416() async throws {
    let server = try server(cuts: [100_000])
    let resumption = try #require(try await failure(server).resumption)
    try content.write(to: resumption.file)
    let whole = try changed(resumption) { $0["byteCount"] = 300_000 }

    let ends = Log<HTTPError?>()
    let response = try await session.resumableDownload(
      for: request(server, reportingEndsTo: ends), to: file, resuming: whole)

    #expect(response.status == .ok && response.networkHead?.status == 416)
    #expect(try Data(contentsOf: file) == content)
    #expect(ends.entries.count == 1 && ends.entries.allSatisfy { $0 == nil })
  }

  @Test func errorStatusDoesNotChangeThePartialFile() async throws {
    let server = try server(cuts: [100_000]) { reply, number in number == 1 ? .status(503) : reply }
    let resumption = try await failure(server).resumption
    let request = HTTPRequest(.get, server.url("/data"))

    let error = try await failure(server, resuming: resumption)
    #expect(error.kind == .unexpectedResponse && error.response?.status == .serviceUnavailable)
    #expect(error.resumption == resumption)
    _ = try await session.resumableDownload(for: request, to: file, resuming: resumption)
    #expect(try Data(contentsOf: file) == content)
    #expect(server.requests.last?.fields[.range] == "bytes=100000-")
  }

  @Test func anUnrequestedPartIsAnError() async throws {
    let server = try LoopbackServer { [content] _ in
      .data(content, status: .partialContent).with(.contentRange, "bytes 0-299999/300000")
    }
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(for: HTTPRequest(.get, server.url), to: file)
    }
    #expect(error?.kind == .protocolViolation)
    #expect(error?.request?.url == server.url && error?.response?.status == .partialContent)
    #expect(names.isEmpty)
  }

  @Test func aRequestedPartIsTheFile() async throws {
    let server = try server(cuts: [])
    let request = HTTPRequest(.get, server.url("/data"), fields: [.range: "bytes=10-19"])
    let response = try await session.resumableDownload(for: request, to: file)
    #expect(response.status == .partialContent)
    #expect(try Data(contentsOf: file) == content[10...19])
  }

  @Test func nginxSendsTheRestOfAFile() async throws {
    let nginx = try Nginx.shared.get()
    var request = HTTPRequest(.get, nginx.plain("/zeros.bin"))
    let isFirst = Mutex(true)
    request.options.listeners = [
      EventHandler { event, _ in
        // a listener runs on the task of the call
        guard case .progress = event,
          isFirst.withLock({ first in
            defer { first = false }; return first
          })
        else { return }
        withUnsafeCurrentTask { $0?.cancel() }
      }
    ]
    let task = Task { [request] in try await session.resumableDownload(for: request, to: file) }
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    let resumption = try #require(error?.resumption)
    #expect(resumption.byteCount > 0 && resumption.byteCount < 1_000_000)

    let response = try await session.resumableDownload(for: request, to: file, resuming: resumption)

    #expect(response.status == .partialContent)
    #expect(try Data(contentsOf: file) == Data(count: 1_000_000))
  }
}
