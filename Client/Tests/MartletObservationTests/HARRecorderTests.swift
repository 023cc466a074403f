import MartletEngine
import MartletObservation
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("HARRecorder", .timeLimit(.minutes(5)))
struct HARRecorderTests {
  private func record(
    _ request: HTTPRequest, with recorder: HARRecorder, _ transport: any Transport
  ) async -> [HAR.Entry] {
    var configuration = SessionConfiguration()
    configuration.listeners = [recorder]
    _ = try? await HTTPSession(transport: transport, configuration: configuration).data(for: request)
    return recorder.har.log.entries
  }

  private func recorder(
    _ redaction: Redaction = .standard, _ change: (inout HARRecorder.Limits) -> Void = { _ in }
  ) -> HARRecorder {
    var limits = HARRecorder.Limits()
    change(&limits)
    return HARRecorder(
      redaction: redaction, limits: limits, now: { Date(timeIntervalSince1970: 0) }, clock: ManualClock())
  }

  @Test func everyAttemptIsAnEntry() async throws {
    let entries = await record(
      HTTPRequest(.get, origin), with: recorder(), ScriptedTransport(.redirect(to: "/new"), .json(#"{"a":1}"#)))

    try #require(entries.count == 2)
    #expect(entries.map(\.request.url) == ["http://a.example/", "http://a.example/new"])
    #expect(entries.map(\.response.status) == [302, 200])
    #expect(entries[0].response.redirectURL == "/new")
    #expect(entries[0].comment?.hasSuffix("attempt 1: 302 redirect to http://a.example/new") == true)
    #expect(entries[1].response.content.text == #"{"a":1}"#)
    #expect(entries[1].response.content.mimeType == "application/json")
    #expect(entries[1].comment?.hasSuffix("attempt 2") == true)
  }

  @Test func theConnectionsTLSIsInTheEntry() async throws {
    /// Reports a connection with TLS.
    struct SecureTransport: Transport {
      func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
        var metrics = TransferMetrics()
        metrics.tls = TransferMetrics.TLS(
          version: "TLSv1.3", cipher: "TLS_AES_128_GCM_SHA256", applicationProtocol: "h2",
          certificate: .init(subject: "a.example", issuer: "an authority", validUntil: Date(timeIntervalSince1970: 5)))
        call.emit(.metrics(metrics))
        return HTTPResponse(status: .ok, url: request.url)
      }
    }

    let entries = await record(HTTPRequest(.get, origin), with: recorder(), SecureTransport())

    let details = try #require(entries.first?.securityDetails)
    #expect(details.protocol == "TLS 1.3" && details.cipher == "TLS_AES_128_GCM_SHA256")
    #expect(details.applicationProtocol == "h2" && details.subjectName == "a.example")
    #expect(details.issuer == "an authority" && details.validFrom == nil && details.validTo == 5)
    let archive = HAR(log: HAR.Log(creator: HAR.Creator(name: "a", version: "1"), entries: entries))
    #expect(try HAR(json: archive.json()).log.entries.first?.securityDetails == details)
  }

  @Test func theHeadIsTheOneThatWasWritten() async throws {
    /// Writes a head with more fields than the request has.
    struct WritingTransport: Transport {
      func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
        let lines = "GET /a HTTP/1.1\r\nHost: a.example\r\nCookie: sid=s3cret\r\nAccept-Encoding: gzip\r\n\r\n"
        call.emit(.written(WrittenHead(lines: Array(lines.utf8))))
        return HTTPResponse(status: .ok, url: request.url)
      }
    }
    let entry = try #require(await record(HTTPRequest(.get, origin), with: recorder(), WritingTransport()).first)
    #expect(entry.request.headers.map(\.name) == ["Host", "Cookie", "Accept-Encoding"])
    #expect(entry.request.headers[1].value == "sid=***")
  }

  @Test func aResponseOfTheCacheIsMarked() async throws {
    let recorder = recorder()
    let transport = ScriptedTransport(.text("kept").with(.cacheControl, "max-age=3600"))
    var configuration = SessionConfiguration()
    configuration.listeners = [recorder]
    let session = HTTPSession(transport: transport, configuration: configuration)
    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, origin)) }

    let entries = recorder.har.log.entries
    #expect(entries.map(\.response.content.text) == ["kept", "kept"])
    #expect(entries.map { $0.comment?.hasSuffix("without the network") } == [false, true])
  }

  @Test func theOldestEntriesOfManyAreLeftOut() async throws {
    var limits = HARRecorder.Limits()
    limits.entries = 10
    let recorder = HARRecorder(limits: limits)
    for count in [25, 1, 30] {
      for index in 0..<count {
        _ = await record(
          HTTPRequest(.get, url("http://a.example/\(count)-\(index)")), with: recorder, ScriptedTransport(.text("a")))
      }
    }

    #expect(recorder.har.log.entries.map(\.request.url) == (20..<30).map { "http://a.example/30-\($0)" })
    #expect(recorder.har.log.comment?.hasPrefix("46 older entries") == true)
    recorder.removeAll()
    #expect(recorder.har.log.entries.isEmpty && recorder.har.log.comment == nil)
  }

  @Test func aFailureIsAnEntryWithoutResponse() async throws {
    let transport = ScriptedTransport(.failure(HTTPError(.connectionLost, "gone")))
    let entry = try #require(await record(HTTPRequest(.get, origin), with: recorder(), transport).first)

    #expect(entry.response.status == 0 && entry.response.error == "connectionLost: gone")
    #expect(entry.response.content.text == nil)
  }

  @Test func aStreamedBodyIsRecordedAsItIsRead() async throws {
    let chunks = RequestBody.stream {
      AsyncStream { continuation in
        continuation.yield(Data("ab".utf8))
        continuation.yield(Data("cd".utf8))
        continuation.finish()
      }
    }
    let transport = MockTransport { request in .data(try await request.readBody(), type: "application/x-own") }
    let request = HTTPRequest(.put, origin, fields: [.contentType: "text/plain"], body: chunks)
    let entry = try #require(await record(request, with: recorder(), transport).first)

    #expect(entry.request.postData?.text == "abcd" && entry.request.bodySize == 4)
    #expect(entry.response.content.text == "YWJjZA==" && entry.response.content.encoding == "base64")
    #expect(entry.response.content.size == 4)
  }

  @Test func secretsAreLeftOutByDefault() async throws {
    let body = #"{"user": "u", "password": "hidden"}"#
    let request = HTTPRequest(
      .post, url("http://u:hidden@a.example/?token=hidden&q=shown"),
      fields: [.authorization: "Bearer hidden", .contentType: "application/json", .cookie: "a=hidden"],
      body: .data(Data(body.utf8)))
    let answer = MockResponse.json(#"{"access_token": "hidden", "b": "shown"}"#).with(.setCookie, "a=hidden")

    let redacted = recorder()
    _ = await record(request, with: redacted, ScriptedTransport(answer))
    let complete = recorder(.off)
    let entries = await record(request, with: complete, ScriptedTransport(answer))

    let text = String(decoding: try redacted.har.json(), as: UTF8.self)
    #expect(!text.contains("hidden") && text.contains("shown"))
    #expect(entries.first?.request.postData?.text == body)
    #expect(entries.first?.response.cookies.first?.value == "hidden")
  }

  @Test func aBodyThatCannotBeSearchedIsLeftOut() async throws {
    let secret = RequestBody.data(Data(#"{"password": "hidden"}"#.utf8)).compressed()
    let answer = MockResponse.json("{}").with(.contentEncoding, "br")
    let request = HTTPRequest(.post, origin, body: secret)
    let transport = MockTransport { request in
      _ = try await request.readBody()
      return answer
    }

    let entry = try #require(await record(request, with: recorder(), transport).first)
    let complete = try #require(await record(request, with: recorder(.off), transport).first)

    #expect(entry.request.postData?.text == "" && entry.response.content.text == nil)
    #expect(entry.request.postData?.comment?.hasPrefix("left out") == true && entry.response.content.size == 2)
    #expect(complete.request.postData?.encoding == "base64" && complete.response.content.text == "{}")
  }

  @Test func aLongBodyIsCutOffWithAComment() async throws {
    let request = HTTPRequest(.post, origin, fields: [.contentType: "text/plain"], body: .data(Data("äääää".utf8)))
    let transport = ScriptedTransport(.text("0123456789"))
    let entry = try #require(await record(request, with: recorder { $0.bodyBytes = 5 }, transport).first)

    #expect(entry.request.postData?.text == "ää")
    #expect(entry.request.postData?.comment == "cut off after 5 of 10 bytes")
    #expect(entry.response.content.text == "01234" && entry.response.content.size == 10)
    #expect(entry.response.content.comment == "cut off after 5 of 10 bytes")
  }

  @Test func theOldestEntriesAreRemovedFirst() async throws {
    let few = recorder { $0.entries = 2 }
    let small = recorder { $0.totalBytes = 10 }
    let transport = MockTransport { .text(String($0.url.path.dropFirst())) }
    for path in ["/aaaa", "/bbbb", "/cccc"] {
      _ = await record(HTTPRequest(.get, url("http://a.example" + path)), with: few, transport)
      _ = await record(HTTPRequest(.get, url("http://a.example" + path)), with: small, transport)
    }

    for recorder in [few, small] {
      #expect(recorder.har.log.entries.map(\.response.content.text) == ["bbbb", "cccc"])
      #expect(recorder.har.log.comment?.hasPrefix("1 older") == true)
    }
    few.removeAll()
    #expect(few.har.log.entries.isEmpty)
  }

  @Test func withoutBodiesNoBytesAreRequested() async throws {
    let recorder = recorder { $0.bodyBytes = 0 }
    #expect(!recorder.events.contains(.bytes))
    let entry = try #require(
      await record(HTTPRequest(.get, origin), with: recorder, ScriptedTransport(.text("hello"))).first)

    #expect(entry.response.content.text == nil && entry.response.content.size == 5)
  }

  @Test func theFileIsForItsOwnerOnly() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString).har")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data("old".utf8).write(to: file)
    let recorder = recorder()
    _ = await record(HTTPRequest(.get, origin), with: recorder, ScriptedTransport(.text("hello")))

    try recorder.write(to: file)

    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try HAR(json: Data(contentsOf: file)) == recorder.har)
    let nowhere = file.appending(path: "x.har")
    #expect(throws: HTTPError.self) { try recorder.write(to: nowhere) }
  }
}
