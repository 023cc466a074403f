import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Tasks for await", .timeLimit(.minutes(5)))
struct AsyncTests {
  private func status(_ response: URLResponse) -> Int? { (response as? HTTPURLResponse)?.statusCode }

  @Test func observersSeeTheData() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Tags"] ?? "none", status: 404) }
    let session = SAPURLSession.uncached(tagging("tag"))

    let (data, response) = try await session.data(for: URLRequest(url: server.url("/a")))
    let (other, _) = try await session.data(from: server.url("/b"))

    #expect(String(decoding: data, as: UTF8.self) == "tag" && data == other)
    #expect(status(response) == 404)
  }

  @Test func uploadsSendBytesAndFiles() async throws {
    let folder = try TemporaryFolder()
    try Data("from a file".utf8).write(to: folder.file("body"))
    let server = try LoopbackServer { .text("\($0.method) \($0.text)") }
    let session = SAPURLSession.uncached()
    let request = URLRequest("PUT", server.url("/"))

    let (bytes, _) = try await session.upload(for: request, from: Data("bytes".utf8))
    let (file, _) = try await session.upload(for: request, fromFile: folder.file("body"))

    #expect(String(decoding: bytes, as: UTF8.self) == "PUT bytes")
    #expect(String(decoding: file, as: UTF8.self) == "PUT from a file")
    await #expect(throws: URLError.self) { try await session.upload(for: request, fromFile: folder.file("nothing")) }
  }

  @Test func aDownloadIsTheCallersFile() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("0123456789".utf8), length: 1 << 20) }
    let session = SAPURLSession.uncached()

    let (file, response) = try await session.download(for: URLRequest(url: server.url("/")))
    defer { try? FileManager.default.removeItem(at: file) }

    #expect(status(response) == 200)
    #expect(try Data(contentsOf: file).count == 1 << 20)
  }

  @Test func anObserversErrorIsThrownAsItIs() async throws {
    let server = try LoopbackServer { _ in .status(403, fields: ["x-message-code": "TRAFFIC_BLOCKED"]) }
    let session = SAPURLSession.uncached(SAPcpmsUserBlockedObserver { _ in })

    await #expect(throws: SAPcpmsUserBlockedError.traffic) { try await session.data(from: server.url("/")) }
    await #expect(throws: SAPcpmsUserBlockedError.traffic) { try await session.download(from: server.url("/")) }
    await #expect(throws: SAPcpmsUserBlockedError.traffic) { try await session.bytes(from: server.url("/")) }
    session.finishTasksAndInvalidate()
    await #expect(throws: SAPURLSessionError.invalidURLSession) { try await session.data(from: server.url("/")) }
    await #expect(throws: SAPURLSessionError.invalidURLSession) { try await session.bytes(from: server.url("/")) }
  }

  enum Verb: CaseIterable, Sendable { case data, upload, download, bytes }

  @Test(arguments: Verb.allCases) func cancellingTheSwiftTaskCancelsTheSessions(_ verb: Verb) async throws {
    let server = try LoopbackServer { _ in .never }
    let session = SAPURLSession.uncached()
    let url = server.url("/")
    let task = Task {
      switch verb {
      case .data: _ = try await session.data(from: url)
      case .upload: _ = try await session.upload(for: URLRequest("PUT", url), from: Data())
      case .download: _ = try await session.download(from: url)
      case .bytes: _ = try await session.bytes(from: url)
      }
    }
    _ = try await server.request(1)

    task.cancel()

    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    try await server.end(ofConnection: 1)
  }

  @Test func aTaskThatWasCancelledBeforeSendsNothing() async throws {
    let server = try LoopbackServer { _ in .text("") }
    let session = SAPURLSession.uncached()
    let gate = Gate()
    let task = Task {
      try? await gate.wait()
      return try await session.data(from: server.url("/"))
    }
    task.cancel()
    gate.open()

    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(server.requests.isEmpty)
  }

  @Test func bytesAreReceivedAsTheyAreRead() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("hello, world").stalled(after: 5, until: gate) }
    let (bytes, response) = try await SAPURLSession.uncached().bytes(for: URLRequest(url: server.url("/")))
    #expect(status(response) == 200)

    var text = ""
    for try await byte in bytes {
      text.append(Character(Unicode.Scalar(byte)))
      if text == "hello" { gate.open() }
    }
    #expect(text == "hello, world")
  }

  @Test func whoDoesNotReadMakesTheSenderWait() async throws {
    let sent = Shared<Int64>(0)
    let server = try LoopbackServer { _ in
      .generated { offset in
        sent.change { $0 = offset }
        return offset < 256 << 20 ? Data(count: 64 << 10) : nil
      }
    }
    let (bytes, _) = try await SAPURLSession.uncached().bytes(from: server.url("/"))
    var iterator = bytes.makeAsyncIterator()
    for _ in 0..<100_000 { _ = try await iterator.next() }

    #expect(sent.value < 128 << 20)
    bytes.task.cancel()
    await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
  }

  @Test func lettingTheBytesGoCancelsTheTask() async throws {
    let server = try LoopbackServer { _ in .text("hello, world").stalled(after: 5) }
    let session = SAPURLSession.uncached()
    func begin() async throws {
      let (bytes, _) = try await session.bytes(from: server.url("/"))
      for try await _ in bytes { break }
    }
    try await begin()

    try await server.end(ofConnection: 1)
  }

  @Test func aBodyThatBreaksOffThrows() async throws {
    let server = try LoopbackServer { _ in .text("hello, world").truncated(after: 5) }
    let (bytes, _) = try await SAPURLSession.uncached().bytes(from: server.url("/"))
    var count = 0

    let error = await #expect(throws: URLError.self) { for try await _ in bytes { count += 1 } }
    #expect(error?.code == .networkConnectionLost && count <= 5)
  }
}
