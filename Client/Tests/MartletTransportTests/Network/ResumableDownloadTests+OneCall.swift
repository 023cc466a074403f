import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Downloads that one call resumes.
extension ResumableDownloadTests {
  /// The server's answer to the rest of the file; a presigned URL that has run out is refused with 403.
  @Test(arguments: [403, 404, 410])
  func aFinalRefusalEndsADownloadThatResumes(status: Int) async throws {
    let server = try server(cuts: [100_000]) { reply, number in
      number == 0 ? reply : .text("it has run out", status: HTTPStatus(status))
    }
    let request = request(server, resumptions: 4)

    let error = await #expect(throws: HTTPError.self) { try await session.resumableDownload(for: request, to: file) }

    #expect(server.requests.count == 2)
    #expect(error?.kind == .unexpectedResponse && error?.response?.status.code == status)
    #expect(error?.body.map { String(decoding: $0, as: UTF8.self) } == "it has run out")
    #expect(error?.resumption?.byteCount == 100_000)
  }

  @Test func anOverloadedServerIsAskedAgainForTheRest() async throws {
    let server = try server(cuts: [100_000]) { reply, number in number == 1 ? .status(503) : reply }
    _ = try await session.download(for: request(server, resumptions: 2), to: file)
    #expect(try Data(contentsOf: file) == content)

    let busy = try self.server(cuts: [100_000]) { reply, number in number == 0 ? reply : .status(503) }
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(for: request(busy, resumptions: 1), to: file)
    }
    #expect(error?.kind == .unexpectedResponse && error?.response?.status == .serviceUnavailable)
  }

  @Test func progressOfAResumedDownloadCountsTheWholeFile() async throws {
    let server = try server(cuts: [100_000, 50_000])
    var request = request(server, resumptions: 2)
    let progress = Log<Event.Progress>()
    request.options.listeners = [
      EventHandler(.progress) { event, _ in if case .progress(let value) = event { progress.append(value) } }
    ]

    _ = try await session.download(for: request, to: file)

    let completed = progress.entries.map(\.completed)
    #expect(completed == completed.sorted() && completed.last == 300_000)
    #expect(progress.entries.allSatisfy { $0.total == 300_000 })
    #expect(Set(progress.entries.map(\.offset)) == [0, 100_000, 150_000])
  }

  /// Apache labels an archive so, whatever the request accepts.
  @Test func anArchiveThatIsLabelledWithACodingStaysOne() async throws {
    let archive = Data(base64Encoded: "H4sIAAAAAAAC/8tIzcnJV8igOwkAL/r4SHgAAAA=") ?? Data()
    let server = try LoopbackServer { _ in .data(archive).with(.contentEncoding, "gzip") }
    _ = try await session.download(for: HTTPRequest(.get, server.url("/x.tar.gz")), to: file)
    #expect(try Data(contentsOf: file) == archive)
    #expect(server.requests.map { $0.fields[.acceptEncoding] } == ["identity"])
    let own = HTTPRequest(.get, server.url("/x.tar.gz"), fields: [.acceptEncoding: "br"])
    _ = try await session.download(for: own, to: file)
    #expect(server.requests.last?.fields[.acceptEncoding] == "br")
  }
}
