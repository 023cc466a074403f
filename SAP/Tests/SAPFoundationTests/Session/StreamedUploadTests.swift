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

@Suite("Streamed upload", .timeLimit(.minutes(5)))
struct StreamedUploadTests {
  private func upload(
    _ session: SAPURLSession, _ url: URL, length: Int? = nil, _ make: @escaping @Sendable () -> InputStream?
  ) async -> Outcome {
    var request = URLRequest("PUT", url)
    if let length { request.setValue(String(length), forHTTPHeaderField: "Content-Length") }
    return await withCheckedContinuation { continuation in
      session.uploadTask(withStreamedRequest: request, needNewBodyStream: make) { data, response, error in
        continuation.resume(returning: Outcome(data: data, response: response, error: error))
      }.resume()
    }
  }

  @Test(arguments: [nil, 5]) func theStreamIsTheBody(length: Int?) async throws {
    let server = try LoopbackServer { _ in .text("thanks") }
    let outcome = await upload(SAPURLSession.uncached(), server.url("/"), length: length) {
      InputStream(data: Data("12345".utf8))
    }

    #expect(outcome.text == "thanks")
    let request = try #require(server.requests.first)
    #expect(request.text == "12345")
    #expect(request.fields[.contentLength] == length.map(String.init))
    #expect(request.fields[.transferEncoding] == (length == nil ? "chunked" : nil))
  }

  @Test func aFileIsReadAsItIsSent() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(component: "body.bin")
    let content = Data((0..<300_000).map { UInt8($0 % 251) })
    try content.write(to: file)
    let server = try LoopbackServer { _ in .status(.created) }

    let outcome = await upload(SAPURLSession.uncached(), server.url("/")) { InputStream(fileAtPath: file.path) }

    #expect(outcome.status == 201)
    #expect(server.requests.first?.body == content)
  }

  @Test func eachAttemptNeedsANewStream() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/there":
        request.fields[.authorization] == nil
          ? .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="r""#]) : .text("thanks")
      default: .redirect(to: "/there", status: .temporaryRedirect)
      }
    }
    let probe = ObserverProbe { probe in
      probe.onChallenge = { _ in .use(URLCredential(user: "anna", password: "secret", persistence: .none)) }
    }
    let count = Atomic(0)

    let outcome = await upload(SAPURLSession.uncached(probe), server.url("/here")) {
      count.add(1, ordering: .relaxed)
      return InputStream(data: Data("body".utf8))
    }

    #expect(outcome.text == "thanks")
    #expect(server.requests.map(\.text) == ["body", "body", "body"])
    #expect(count.load(ordering: .relaxed) == 3)
    #expect(probe.log.filter { $0 == "stream" }.count == 3)
  }

  @Test func noStreamIsAnErrorThatSaysSo() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let outcome = await upload(SAPURLSession.uncached(), server.url("/")) { nil }

    #expect(outcome.code == .requestBodyStreamExhausted)
    #expect(outcome.error?.localizedDescription.contains("stream") == true)
    #expect(server.requests.isEmpty)
  }

  @Test func aStreamThatCannotBeReadIsAnErrorThatSaysSo() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let outcome = await upload(SAPURLSession.uncached(), server.url("/")) {
      InputStream(fileAtPath: "/nowhere/body.bin")
    }

    #expect(outcome.code == .cannotOpenFile)
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: [true, false]) func aClosedStreamIsAnErrorThatSaysSo(isOfRequest: Bool) async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    let closed = InputStream(data: Data("body".utf8))
    closed.open()
    closed.close()
    var request = URLRequest("PUT", server.url("/"))
    if isOfRequest { request.httpBodyStream = closed }

    let outcome =
      isOfRequest
      ? await session.outcome(of: request)
      : await upload(session, server.url("/")) {
        let stream = InputStream(data: Data("body".utf8))
        stream.open()
        stream.close()
        return stream
      }

    #expect(outcome.code == .cannotOpenFile)
    #expect(outcome.error?.localizedDescription.contains("stream") == true)
  }

  @Test func theStreamOfARequestIsSentOnceAndAnotherIsNeededAfterwards() async throws {
    let server = try LoopbackServer { request in
      request.path == "/there" ? .text("thanks") : .redirect(to: "/there", status: .permanentRedirect)
    }
    let probe = ObserverProbe { $0.onStream = { .allow(InputStream(data: Data("second".utf8))) } }
    var request = URLRequest("PUT", server.url("/here"))
    request.httpBodyStream = InputStream(data: Data("first".utf8))

    let outcome = await SAPURLSession.uncached(probe).outcome(of: request)

    #expect(outcome.text == "thanks")
    #expect(server.requests.map(\.text) == ["first", "second"])
  }

  @Test func bytesAndFilesAreUploadedToo() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(component: "a.txt")
    try Data("from a file".utf8).write(to: file)
    let server = try LoopbackServer { .text($0.text) }
    let session = SAPURLSession.uncached()
    let request = URLRequest("POST", server.url("/"))
    let missing = folder.url.appending(component: "missing.txt")

    let (bytes, whole, failed) = await (
      outcome { session.uploadTask(with: request, from: Data("bytes".utf8), completionHandler: $0) },
      outcome { session.uploadTask(with: request, fromFile: file, completionHandler: $0) },
      outcome { session.uploadTask(with: request, fromFile: missing, completionHandler: $0) }
    )

    #expect(bytes.text == "bytes")
    #expect(whole.text == "from a file")
    #expect(server.requests.map { $0.fields[.contentLength] } == ["5", "11"])
    #expect(failed.code == .cannotOpenFile)
    #expect(failed.error?.localizedDescription.contains(missing.path) == true)
  }

  private func outcome(
    of make: (@escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void) -> SAPURLSessionTask
  ) async -> Outcome {
    await withCheckedContinuation { continuation in
      make { continuation.resume(returning: Outcome(data: $0, response: $1, error: $2)) }.resume()
    }
  }
}
