import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Download tasks", .timeLimit(.minutes(5)))
struct DownloadTests {
  private struct Result: Sendable {
    let content: Data?
    let location: URL?
    let status: Int?
    let error: (any Error)?
  }

  private func run(
    _ make: (@escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void) -> SAPURLSessionDownloadTask
  )
    async -> Result
  {
    await withCheckedContinuation { continuation in
      make { location, response, error in
        let content = location.flatMap { try? Data(contentsOf: $0) }
        continuation.resume(
          returning: Result(
            content: content, location: location, status: (response as? HTTPURLResponse)?.statusCode, error: error))
      }.resume()
    }
  }

  @Test(arguments: [HTTPStatus.ok, .notFound]) func theBodyIsInAFileUntilTheHandlerReturns(status: HTTPStatus)
    async throws
  {
    let server = try LoopbackServer { _ in .text("hello", status: status) }
    let probe = ObserverProbe()
    let session = SAPURLSession.uncached(probe)

    let result = await run { session.downloadTask(with: server.url("/"), completionHandler: $0) }

    #expect(result.content == Data("hello".utf8))
    #expect(result.status == status.code)
    #expect(probe.log == ["send", "create", "response \(status.code)", "file", "complete"])
    let location = try #require(result.location)
    await session.callbacksHaveReturned()
    #expect(!FileManager.default.fileExists(atPath: location.path))
  }

  private static let content = Data((0..<200_000).map { UInt8($0 % 251) })

  /// A server that stalls within the content, and sends the rest on request.
  ///
  /// - Parameter key: the key that every request needs; nil for none.
  private func resumableServer(requiring key: String? = nil) throws -> LoopbackServer {
    try LoopbackServer { request in
      guard request.fields["X-Key"] == key else { return .status(.forbidden) }
      let content = Self.content
      let whole = Reply.data(content).with(.eTag, "\"1\"").with("Accept-Ranges", "bytes")
      guard let range = request.fields[.range], let start = Int(range.dropFirst(6).dropLast()) else {
        return whole.stalled(after: 150_000)
      }
      return Reply.data(Data(content[start...]), status: .partialContent).with(.eTag, "\"1\"")
        .with(.contentRange, "bytes \(start)-\(content.count - 1)/\(content.count)")
    }
  }

  @Test func aCancelledDownloadContinuesWhereItStopped() async throws {
    let server = try resumableServer()
    let session = SAPURLSession.uncached()
    let resumeData = try #require(await cancelled(session, URLRequest(url: server.url("/")), after: 1))

    let result = await run { session.downloadTask(withResumeData: resumeData, completionHandler: $0) }

    #expect(result.error == nil)
    #expect(result.content == Self.content)
    #expect(server.requests.count == 2)
    #expect(server.requests.last?.fields[.range]?.hasPrefix("bytes=") == true)
  }

  enum Form: CaseIterable { case handler, async }

  @Test(arguments: Form.allCases)
  func aDownloadContinuesWithTheFieldsOfItsRequest(_ form: Form) async throws {
    let server = try resumableServer(requiring: "secret")
    let session = SAPURLSession.uncached()
    let request = keyed(server.url("/"))
    let resumeData = try #require(await cancelled(session, request, after: 1))

    let content: Data?
    switch form {
    case .handler:
      content = await run { session.downloadTask(with: request, resumeData: resumeData, completionHandler: $0) }.content
    case .async:
      let (file, _) = try await session.download(for: request, resumeFrom: resumeData)
      content = try Data(contentsOf: file)
      try FileManager.default.removeItem(at: file)
    }

    #expect(content == Self.content)
    #expect(server.requests.map { $0.fields["X-Key"] } == ["secret", "secret"])
    #expect(server.requests.last?.fields[.range]?.hasPrefix("bytes=") == true)
  }

  @Test func aDownloadDoesNotContinueWithARequestForAnotherURL() async throws {
    let server = try resumableServer(requiring: "secret")
    let session = SAPURLSession.uncached()
    let resumeData = try #require(await cancelled(session, keyed(server.url("/first")), after: 1))
    let partial = try JSONDecoder().decode(DownloadResumption.self, from: resumeData)
    defer { partial.discard() }

    let result = await run {
      session.downloadTask(with: keyed(server.url("/second")), resumeData: resumeData, completionHandler: $0)
    }

    let text = try #require(result.error as? URLError).localizedDescription
    #expect((result.error as? URLError)?.code == .badURL)
    #expect(text.contains("/first") && text.contains("/second"), "\(text)")
    #expect(server.requests.map(\.path) == ["/first"])
    #expect(FileManager.default.fileExists(atPath: partial.file.path))
  }

  private func keyed(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.setValue("secret", forHTTPHeaderField: "X-Key")
    return request
  }

  /// An observer may have hidden the error whose resume data name the file.
  @Test(arguments: [true, false])
  func thePartialFileOfALostDownloadStaysOnlyIfTheAppCanContinueIt(_ isHidden: Bool) async throws {
    let server = try LoopbackServer { _ in
      .data(Data(count: 200_000)).with(.eTag, "\"1\"").truncated(after: 150_000)
    }
    let partial = Shared<DownloadResumption?>(nil)
    let probe = ObserverProbe()
    probe.onComplete = { error in
      partial.change { $0 = (error as? URLError)?.underlyingHTTPError?.resumption }
      return isHidden ? .cancel(TestFailure(name: "hidden")) : .allow
    }
    let session = SAPURLSession.uncached(probe)

    let result = await run { session.downloadTask(with: server.url("/"), completionHandler: $0) }

    #expect((result.error is TestFailure) == isHidden)
    let kept = try #require(partial.value)
    #expect(FileManager.default.fileExists(atPath: kept.file.path) == !isHidden)
    kept.discard()
  }

  private final class WriteObserver: SAPURLSessionObserving, Sendable {
    let count = Shared<Int64>(0)

    func sapURLSession(
      _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didWriteData bytesWritten: Int64,
      totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) { count.change { $0 = totalBytesWritten } }
  }

  /// Downloads this number of bytes, cancels, and returns the resume data.
  private func cancelled(_ session: SAPURLSession, _ request: URLRequest, after count: Int64) async -> Data? {
    let written = WriteObserver()
    session.register(written)
    defer { session.unregister(written) }
    let task = session.downloadTask(with: request) { _, _, _ in }
    task.resume()
    await written.count.wait { $0 >= count }
    return await withCheckedContinuation { continuation in
      task.cancel { continuation.resume(returning: $0) }
    }
  }

  @Test func cancellingACompletedDownloadReturnsNoResumeData() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    let completed = Gate()
    let task = session.downloadTask(with: server.url("/")) { _, _, _ in completed.open() }
    task.resume()
    try await completed.wait()

    let data = await withCheckedContinuation { continuation in
      task.cancel { continuation.resume(returning: $0) }
    }

    #expect(data == nil && task.state == .completed)
  }

  @Test func resumeDataThatNameAnotherFileLeaveItAlone() async throws {
    let content = Data((0..<200_000).map { UInt8($0 % 251) })
    let server = try LoopbackServer { request in
      let whole = Reply.data(content).with(.eTag, "\"1\"")
      return request.path == "/first" ? whole.stalled(after: 150_000) : whole
    }
    let session = SAPURLSession.uncached()
    let resumeData = try #require(await cancelled(session, URLRequest(url: server.url("/first")), after: 1))
    let folder = try TemporaryFolder()
    let victim = try folder.write(Data(count: 200_000), to: ".sapurlsession.0.partial")
    var members = try #require(try JSONSerialization.jsonObject(with: resumeData) as? [String: Any])
    let partial = try #require(URL(string: members["file"] as? String ?? ""))
    defer { try? FileManager.default.removeItem(at: partial) }
    members["file"] = victim.absoluteString
    members["url"] = server.url("/second").absoluteString
    let misleading = try JSONSerialization.data(withJSONObject: members)

    let result = await run { session.downloadTask(withResumeData: misleading, completionHandler: $0) }

    #expect(result.content == content)
    #expect(server.requests.last?.fields[.range] == nil)
    #expect(try Data(contentsOf: victim) == Data(count: 200_000))
  }

  @Test(arguments: [HTTPStatus.ok, .notFound])
  func onlyTheOwnerMayReadWhatIsDownloaded(status: HTTPStatus) async throws {
    let server = try LoopbackServer { request in
      let reply = Reply.data(Data(count: 200_000), status: status).with(.eTag, "\"1\"")
      return request.path == "/stalled" ? reply.stalled(after: 150_000) : reply
    }
    let session = SAPURLSession.uncached()
    let mode = Mutex<Int?>(nil)

    _ = await run { done in
      session.downloadTask(with: server.url("/")) { location, response, error in
        mode.withLock { $0 = location.flatMap(permissions) }
        done(location, response, error)
      }
    }

    #expect(mode.withLock { $0 } == 0o600)
    guard status == .ok else { return }
    let resumeData = try #require(await cancelled(session, URLRequest(url: server.url("/stalled")), after: 1))
    let partial = try JSONDecoder().decode(DownloadResumption.self, from: resumeData)
    #expect(permissions(partial.file) == 0o600)
    partial.discard()
  }

  private func permissions(_ file: URL) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: file.path))?[.posixPermissions] as? Int
  }

  @Test func withoutAValidatorThereIsNothingToResumeWith() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 200_000)).stalled(after: 150_000) }

    #expect(await cancelled(SAPURLSession.uncached(), URLRequest(url: server.url("/")), after: 1) == nil)
  }

  @Test func dataThatAreNoneFailTheTask() async {
    let session = SAPURLSession(configuration: .ephemeral)
    let result = await run { session.downloadTask(withResumeData: Data("nonsense".utf8), completionHandler: $0) }

    #expect(result.error as? SAPURLSessionError == .invalidRequest)
  }
}
