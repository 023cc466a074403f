import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletEngine

/// Several downloads as one sequence of updates.
@Suite(.timeLimit(.minutes(5)))
struct ManyDownloadsTests {
  private static let content = Data.counting(100_000)

  private let folder: TemporaryFolder
  private let session: HTTPSession

  init() throws {
    folder = try TemporaryFolder()
    session = HTTPSession(transport: SocketTransport())
  }

  private func downloads(_ count: Int, from server: LoopbackServer) -> [FileDownload] {
    (0..<count).map { FileDownload(HTTPRequest(.get, server.url("/\($0)")), to: folder.file("\($0)")) }
  }

  private static func reply(to request: LoopbackRequest) -> Reply {
    let reply = Reply.data(content).with(.eTag, "\"1\"")
    guard let range = request.fields[.range], let start = Int(range.dropFirst(6).dropLast()) else { return reply }
    return Reply.data(content.dropFirst(start), status: .partialContent).with(.eTag, "\"1\"")
      .with(.contentRange, "bytes \(start)-\(content.count - 1)/\(content.count)")
  }

  @Test func eachEndsOnceAndItsFileIsComplete() async throws {
    let server = try LoopbackServer { Self.reply(to: $0) }
    let downloads = downloads(7, from: server)
    var ended: [Int: HTTPStatus] = [:]
    var progress: [Int: Event.Progress] = [:]

    for await update in session.downloads(downloads, atOnce: 3) {
      switch update {
      case .progress(let index, let now):
        #expect(ended[index] == nil)
        #expect(now.completed > progress[index]?.completed ?? -1)
        progress[index] = now
      case .ended(let index, let result):
        #expect(ended.updateValue(try result.get().status, forKey: index) == nil)
      }
    }

    #expect(ended == Dictionary(uniqueKeysWithValues: (0..<7).map { ($0, .ok) }))
    #expect(progress.count == 7 && progress.values.allSatisfy { $0.fraction == 1 })
    for download in downloads { #expect(try Data(contentsOf: download.destination) == Self.content) }
  }

  @Test(arguments: [(1, 1), (3, 3), (0, 1), (-5, 1), (100, 6)])
  func noMoreRunThanTheLimit(limit: Int, expected: Int) async throws {
    let running = Mutex((now: 0, most: 0))
    let (full, gate) = (Gate(), Gate())
    let server = try LoopbackServer { request in
      let now = running.withLock { running in
        running.now += 1
        running.most = max(running.most, running.now)
        return running.now
      }
      if now == expected { full.open() }
      try request.wait(for: gate)
      running.withLock { $0.now -= 1 }
      return .text("ok")
    }
    let all = downloads(6, from: server)
    let opening = Task {
      try await full.wait()
      gate.open()
    }
    var count = 0
    for await update in session.downloads(all, atOnce: limit) {
      if case .ended(_, .success) = update { count += 1 }
    }
    try await opening.value
    #expect(count == 6)
    #expect(running.withLock { $0.most } == expected)
  }

  @Test func theErrorOfOneEndsNoOtherAndContinuesLater() async throws {
    let isWhole = Atomic(false)
    let server = try LoopbackServer { request in
      let reply = Self.reply(to: request)
      return request.path == "/1" && !isWhole.load(ordering: .relaxed) ? reply.truncated(after: 40_000) : reply
    }
    var all = downloads(3, from: server)
    all[2].request = HTTPRequest(.get, "nothing://here")
    var errors: [Int: HTTPError] = [:]
    for await update in session.downloads(all) {
      if case .ended(let index, .failure(let error)) = update { errors[index] = error }
    }
    #expect(errors.keys.sorted() == [1, 2])
    let resumption = try #require(errors[1]?.resumption)
    #expect(resumption.byteCount == 40_000)

    isWhole.store(true, ordering: .relaxed)
    all[1].resumption = resumption
    for await update in session.downloads([all[1]]) {
      if case .ended(_, let result) = update { #expect(try result.get().status == .partialContent) }
    }
    #expect(try Data(contentsOf: all[1].destination) == Self.content)
  }

  @Test func theDigestOfEachIsChecked() async throws {
    let server = try LoopbackServer { _ in .text("hello, world") }
    let text = "09ca7e4eaa6e8ae9c7d261167129184883644d07dfba7cbfbc4c8a2e08360d5b"
    var all = downloads(2, from: server)
    all[0].digest = FileDigest(hexadecimal: text)
    all[1].digest = FileDigest(hexadecimal: String(text.reversed()))
    var kinds: [HTTPError.Kind?] = [nil, nil]
    for await update in session.downloads(all) {
      if case .ended(let index, .failure(let error)) = update { kinds[index] = error.kind }
    }
    #expect(kinds == [nil, .digestMismatch])
    #expect(try folder.names() == ["0"])
  }

  @Test func aCancelledLoopStillGetsEveryEndWithItsResumption() async throws {
    let server = try LoopbackServer { Self.reply(to: $0).stalled(after: 30_000) }
    let (all, session) = (downloads(5, from: server), session)
    let begun = Gate()
    let loop = Task {
      var ends: [Int: HTTPError] = [:]
      var arrived: Set<Int> = []
      for await update in session.downloads(all, atOnce: 2) {
        switch update {
        case .progress(let index, let progress):
          if progress.completed == 30_000 { arrived.insert(index) }
          if arrived.count == 2 { begun.open() }
        case .ended(let index, .failure(let error)): ends[index] = error
        case .ended: break
        }
      }
      return ends
    }
    try await begun.wait()
    loop.cancel()
    let ends = await loop.value
    #expect(ends.count == 5)
    #expect(ends.values.allSatisfy { $0.isCancelled })
    #expect(ends.values.filter { $0.resumption?.byteCount == 30_000 }.count == 2)
    #expect(server.requests.count == 2)
  }

  @Test func aLoopThatIsLeftCancelsTheRest() async throws {
    let server = try LoopbackServer { request in
      request.path == "/0" ? .text("ok") : Self.reply(to: request).stalled(after: 30_000)
    }
    for await update in session.downloads(downloads(4, from: server), atOnce: 4) {
      if case .ended = update { break }
    }
    // The connections of the stalled downloads are closed; one with a response that was read stays.
    for download in server.requests where download.path != "/0" {
      #expect(try await server.end(ofConnection: download.connection) == .client)
    }
  }

  @Test func nothingStartsBeforeTheLoopAndNoneIsNoUpdate() async throws {
    let server = try LoopbackServer { Self.reply(to: $0) }
    let updates = session.downloads(downloads(2, from: server))
    _ = updates.makeAsyncIterator()
    for await _ in session.downloads([]) { Issue.record("an update of nothing") }
    #expect(server.connectionCount == 0)
    var ends = 0
    for _ in 1...2 { for await update in updates { if case .ended = update { ends += 1 } } }
    #expect(ends == 4)
  }
}
