import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Which requests are equal, and the error for one without a recorded response.
@Suite(.timeLimit(.minutes(5)))
struct ReplayMatchingTests {
  private static let json: HTTPFields = [.contentType: "application/json"]
  private static let plainText: HTTPFields = [.contentType: "text/plain"]
  private static let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]

  /// Records one request, sends another, and returns whether the recording answered it.
  private func answers(
    _ asked: HTTPRequest, recorded: HTTPRequest, _ change: (inout ReplayMatching) -> Void = { _ in }
  ) async throws -> Bool {
    var matching = ReplayMatching()
    change(&matching)
    let recorder = HARRecorder()
    let session = HTTPSession(transport: MockTransport { _ in .text("hello") }, configuration: plain([recorder]))
    _ = try await session.data(for: recorded)
    let replay = ReplayTransport(recorder.har, matching: matching)
    do {
      let (data, _) = try await HTTPSession(transport: replay, configuration: plain()).data(for: asked)
      return data == Data("hello".utf8)
    } catch { return false }
  }

  private func plain(_ listeners: [any EventListener] = []) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.listeners = listeners
    return configuration
  }

  private func request(
    _ method: HTTPMethod, _ url: String, _ fields: HTTPFields = [:], _ body: String = ""
  ) throws -> HTTPRequest {
    HTTPRequest(method, try #require(URL(string: url)), fields: fields, body: .data(Data(body.utf8)))
  }

  @Test(arguments: [
    ("http://a.example/x", "http://a.example/x", true),
    ("http://a.example", "http://A.example:80/#part", true),
    ("http://a.example/x?a=1&b=2", "http://a.example/x?b=2&a=1", true),
    ("http://a.example/x?a=1&a=2", "http://a.example/x?a=2&a=1", false),
    ("http://a.example/x?a=1", "http://a.example/x", false),
    ("http://a.example/x", "http://a.example/y", false),
    ("http://a.example/x", "http://b.example/x", false),
    ("http://a.example/x", "https://a.example/x", false),
    ("http://a.example/x", "http://a.example:81/x", false),
    ("http://a.example/x?token=one", "http://a.example/x?token=two", true),
    ("http://anna:secret@a.example/x", "http://a.example/x", true),
  ])
  func theURLIsCompared(recorded: String, asked: String, isSame: Bool) async throws {
    #expect(try await answers(request(.get, asked), recorded: request(.get, recorded)) == isSame)
  }

  @Test(arguments: [
    (json, #"{"a": 1, "b": [true, null]}"#, #"{"b":[true,null],"a":1.0}"#, true),
    (json, #"{"a": 1}"#, #"{"a": 2}"#, false),
    (json, #"{"a": "1"}"#, #"{"a": 1}"#, false),
    (json, #"{"password": "one"}"#, #"{"password": "two"}"#, true),
    (form, "a=1&b=2", "b=2&a=1", true),
    (form, "a=1&a=2", "a=2&a=1", false),
    (form, "user=a&password=one", "user=a&password=two", true),
    (plainText, "hello", "hello", true),
    (plainText, "hello", "hello ", false),
    (json, #"{"a": 1}"#, "", false),
  ])
  func theBodyOfAPostIsCompared(fields: HTTPFields, recorded: String, asked: String, isSame: Bool) async throws {
    let url = "http://a.example/x"
    let same = try await answers(request(.post, url, fields, asked), recorded: request(.post, url, fields, recorded))
    #expect(same == isSame)
  }

  @Test func theBoundaryOfAMultipartBodyIsNotCompared() async throws {
    func upload(_ boundary: String, _ text: String) throws -> HTTPRequest {
      let body = "--\(boundary)\r\nContent-Disposition: form-data; name=a\r\n\r\n\(text)\r\n--\(boundary)--\r\n"
      return try request(.post, "http://a.example/", [.contentType: "multipart/form-data; boundary=\(boundary)"], body)
    }
    #expect(try await answers(upload("one", "hello"), recorded: upload("two", "hello")))
    #expect(try await !answers(upload("one", "hello"), recorded: upload("two", "other")))
  }

  @Test func everyPartOfTheComparisonCanBeChosen() async throws {
    let (get, post) = (try request(.get, "http://a.example/x"), try request(.post, "http://a.example/x", [:], "a"))
    #expect(try await !answers(get, recorded: post))
    #expect(
      try await answers(get, recorded: post) {
        $0.method = false
        $0.body = .ignored
      })
    let other = try request(.get, "http://b.example:8080/x")
    #expect(try await answers(other, recorded: get) { $0.host = false })
    let asked = try request(.get, "http://a.example/x?a=1&t=1"), old = try request(.get, "http://a.example/x?a=1&t=2")
    #expect(try await answers(asked, recorded: old) { $0.query = .except(["t"]) })
    #expect(try await answers(asked, recorded: old) { $0.query = .only(["a"]) })
    #expect(try await !answers(asked, recorded: old) { $0.query = .except(["a"]) })
    #expect(try await answers(asked, recorded: get) { $0.query = .ignored })
    let german = try request(.get, "http://a.example/x", [.accept: "text/html"])
    #expect(try await answers(german, recorded: get))
    #expect(try await !answers(german, recorded: get) { $0.fields = [.accept] })
    #expect(try await answers(post, recorded: request(.post, "http://a.example/x", [:], "b")) { $0.body = .ignored })
    let searched = try request(.get, "http://a.example/x", [:], "q")
    #expect(try await answers(searched, recorded: get))
    #expect(try await !answers(searched, recorded: get) { $0.body = .always })
  }

  @Test func equalRequestsGetTheirResponsesInOrderAndThenTheLast() async throws {
    let recorder = HARRecorder()
    let script = ScriptedTransport(.text("1"), .text("2", status: 503), .text("3"))
    let url = url("http://a.example/")
    let recording = HTTPSession(transport: script, configuration: plain([recorder]))
    for _ in 1...3 { _ = try await recording.data(for: HTTPRequest(.get, url)) }
    var matching = ReplayMatching()
    let replay = ReplayTransport(recorder.har, matching: matching)
    let session = HTTPSession(transport: replay, configuration: plain())
    #expect(replay.unused.count == 3)

    var texts: [String] = []
    for _ in 1...4 {
      texts.append(String(decoding: try await session.data(for: HTTPRequest(.get, url)).0, as: UTF8.self))
    }

    #expect(texts == ["1", "2", "3", "3"])
    #expect(replay.unused.isEmpty)
    matching.repeatsLastAnswer = false
    let once = HTTPSession(transport: ReplayTransport(recorder.har, matching: matching), configuration: plain())
    for _ in 1...3 { _ = try await once.data(for: HTTPRequest(.get, url)) }
    let failure = await #expect(throws: HTTPError.self) { _ = try await once.data(for: HTTPRequest(.get, url)) }
    #expect(failure?.message.contains("has 3 responses for GET http://a.example/, and all were used") == true)
  }

  @Test func anUnrecordedRequestIsAnErrorThatNamesTheMostSimilar() async throws {
    let recorder = HARRecorder(now: { Date(timeIntervalSince1970: 1_700_000_000) })
    let recording = HTTPSession(transport: MockTransport { _ in .text("") }, configuration: plain([recorder]))
    for target in ["orders/12?token=secret", "login", "orders/13"] {
      _ = try await recording.data(for: request(.get, "http://a.example/\(target)"))
    }
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "orders.har")
    try recorder.write(to: file)
    let replay = try ReplayTransport(file: file, now: { Date(timeIntervalSince1970: 1_700_000_000 + 86_400 * 40) })

    let failure = await #expect(throws: HTTPError.self) {
      _ = try await replay.send(request(.post, "http://a.example/orders/12?token=other", [:], "12345"), in: Call())
    }

    #expect(failure?.kind == .other)
    #expect(
      failure?.message == "'\(file.path)', recorded on 2023-11-14 (40 days ago), has no response for "
        + "POST http://a.example/orders/12?token=*** with a body of 5 bytes; most similar are "
        + "GET http://a.example/orders/12?token=*** (method differs); "
        + "GET http://a.example/orders/13 (path, method, parameter 'token' differs); "
        + "GET http://a.example/login (path, method, parameter 'token' differs): "
        + "record again (MARTLET_RECORD=1 for a Recording)")
    #expect(replay.isOlder(than: .seconds(86_400 * 39)))
    #expect(!replay.isOlder(than: .seconds(86_400 * 41)))
  }
}
