import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Incomplete bodies of recordings, and concurrent requests.
@Suite(.timeLimit(.minutes(5)))
struct ReplayedBodyTests {
  private let address = url("http://a.example/?token=secret")

  private func record(_ answers: MockResponse..., recorder: HARRecorder) async throws -> HAR {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.listeners = [recorder]
    let session = HTTPSession(transport: ScriptedTransport(answers), configuration: configuration)
    for _ in answers { _ = try await session.data(for: HTTPRequest(.get, address)) }
    return recorder.har
  }

  @Test func aTruncatedBodyIsReplayedAsFarAsItWasRecorded() async throws {
    var limits = HARRecorder.Limits()
    limits.bodyBytes = 3
    let har = try await record(.text("hello"), recorder: HARRecorder(limits: limits))
    let response = try await ReplayTransport(har).send(HTTPRequest(.get, address), in: Call())
    var text = ""
    let failure = await #expect(throws: HTTPError.self) {
      for try await chunk in response.body { text += String(decoding: chunk, as: UTF8.self) }
    }
    #expect(text == "hel")
    #expect(failure?.message.contains("cut off after 3 of 5 bytes") == true)
  }

  @Test func anEncodedBodyThatCannotBeRedactedIsAnError() async throws {
    let packed = MockResponse.data(Data([0x1F, 0x8B, 8])).with(.contentEncoding, "gzip")
    let request = HTTPRequest(.get, address)
    let scrubbed = ReplayTransport(try await record(packed, recorder: HARRecorder()))
    let failure = await #expect(throws: HTTPError.self) {
      _ = try await scrubbed.send(request, in: Call()).body.collect(upTo: 9)
    }
    #expect(failure?.message.contains("left out: it is encoded") == true)

    let whole = ReplayTransport(try await record(packed, recorder: HARRecorder(redaction: .off)), redaction: .off)
    let response = try await whole.send(request, in: Call())
    #expect(response.fields[.contentEncoding] == "gzip")
    #expect(try await response.body.collect(upTo: 9) == Data([0x1F, 0x8B, 8]))
  }

  @Test func concurrentRequestsGetDifferentResponses() async throws {
    let har = try await record(.text("1"), .text("2"), .text("3"), .text("4"), recorder: HARRecorder())
    let replay = ReplayTransport(har)
    let request = HTTPRequest(.get, address)
    let texts = try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 1...4 {
        group.addTask { try await replay.send(request, in: Call()).body.collect(upTo: 9) }
      }
      return try await group.reduce(into: Set<Data>()) { $0.insert($1) }
    }
    #expect(texts.count == 4)
    #expect(replay.unused.isEmpty)
  }

  @Test func errorsShowNoSecretsEvenOfAnUnredactedRecording() async throws {
    let har = try await record(.text("1"), recorder: HARRecorder(redaction: .off))
    #expect(har.log.entries[0].request.url.hasSuffix("token=secret"))
    let replay = ReplayTransport(har, redaction: .off)
    let other = url("http://a.example/?token=hidden")
    let failure = await #expect(throws: HTTPError.self) {
      _ = try await replay.send(HTTPRequest(.get, other), in: Call())
    }
    #expect(failure?.message.contains("GET http://a.example/?token=*** (parameter 'token' differs)") == true)
    #expect(failure?.message.contains("hidden") == false && failure?.message.contains("secret") == false)
  }
}
