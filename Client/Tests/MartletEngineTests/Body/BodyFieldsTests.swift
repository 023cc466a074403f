import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BodyFieldsTests {
  // WHATWG URL §5.2: order and repeats are kept; a space is a plus; everything but *-._ and alphanumerics is encoded.
  @Test(arguments: [
    ([("a", "1")], "a=1"), ([], ""), ([("a", "1"), ("b", "2"), ("a", "3")], "a=1&b=2&a=3"),
    ([("na me", "v+a&l=ue")], "na+me=v%2Ba%26l%3Due"), ([("ü", "~é*-._")], "%C3%BC=%7E%C3%A9*-._"), ([("", "")], "="),
    ([("x", "a\r\nb")], "x=a%0D%0Ab"),
  ])
  func formIsEncodedInOrder(_ pairs: [(String, String)], _ expected: String) {
    let body = RequestBody.form(pairs.map { (name: $0.0, value: $0.1) })
    #expect(body.bytes.map { String(decoding: $0, as: UTF8.self) } == expected)
    #expect(body.fields == [.contentType: "application/x-www-form-urlencoded"])
  }

  @Test func redirectThatDropsTheBodyDropsItsFields() async throws {
    let transport = ScriptedTransport(.redirect(to: "/there", status: .seeOther), .text("there"))
    _ = try await HTTPSession(transport: transport).data(for: HTTPRequest(.post, origin, body: .form([("a", "1")])))

    #expect(transport.requests.map(\.method) == [.post, .get])
    #expect(transport.requests.map { $0.fields.contains(.contentType) } == [true, false])
  }

  @Test func redirectThatKeepsTheBodyKeepsItsFields() async throws {
    let transport = ScriptedTransport(.redirect(to: "/there", status: .temporaryRedirect), .text("there"))
    _ = try await HTTPSession(transport: transport).data(for: HTTPRequest(.post, origin, body: .form([("a", "1")])))

    #expect(transport.requests.map { $0.fields[values: .contentType].count } == [1, 1])
    #expect(transport.requests.map { $0.body.bytes } == [Data("a=1".utf8), Data("a=1".utf8)])
  }

  @Test func interceptorSeesTheFieldsAndMayGiveAnotherBody() async throws {
    var configuration = SessionConfiguration()
    configuration.interceptors = [
      TestInterceptor(prepare: { request in
        #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
        var request = request
        request.body = request.body.compressed()
        return request
      })
    ]
    let transport = ScriptedTransport(.redirect(to: "/there", status: .temporaryRedirect), .text("there"))
    let session = HTTPSession(transport: transport, configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.post, origin, body: .form([("a", "1")])))

    #expect(transport.requests.map { $0.fields[values: .contentEncoding] } == [["gzip"], ["gzip"]])
  }

  /// A form whose body an interceptor replaces. Returns the fields that the next interceptor receives, and the fields
  /// that were sent.
  private func sent(
    _ fields: HTTPFields = [:], replacing change: @escaping @Sendable (inout HTTPRequest) -> Void
  ) async throws -> (seen: HTTPFields, sent: HTTPFields) {
    let seen = Mutex(HTTPFields())
    var configuration = SessionConfiguration()
    configuration.interceptors = [
      TestInterceptor(prepare: { request in
        var request = request
        change(&request)
        return request
      }),
      TestInterceptor(prepare: { request in
        seen.withLock { $0 = request.fields }
        return request
      }),
    ]
    let transport = ScriptedTransport(.text("there"))
    let request = HTTPRequest(.post, origin, fields: fields, body: .form([("a", "1")]))
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: request)
    return (seen.withLock { $0 }, try #require(transport.requests.first).fields)
  }

  @Test func fieldsOfAReplacedBodyGoAndThoseOfTheNewOneCome() async throws {
    let json = try RequestBody.json([1])
    let replaced = try await sent { $0.body = json }
    #expect(replaced.seen[values: .contentType] == ["application/json"])
    #expect(replaced.sent[values: .contentType] == ["application/json"])

    let packed = try await sent { $0.body = json.compressed() }
    #expect(packed.seen[values: .contentType] == ["application/json"])
    #expect(packed.seen[values: .contentEncoding] == ["gzip"])

    let bytes = try await sent { $0.body = .data(Data([1])) }
    #expect(!bytes.seen.contains(.contentType) && !bytes.sent.contains(.contentType))
  }

  @Test func fieldsOfTheCallersAndOfAnInterceptorsOwnStay() async throws {
    let json = try RequestBody.json([1])
    let callers = try await sent([.contentType: "text/x-own"]) { $0.body = json }
    #expect(callers.seen[values: .contentType] == ["text/x-own"])

    let interceptors = try await sent {
      $0.body = json
      $0.fields[.contentType] = "application/vnd.own+json"
    }
    #expect(interceptors.seen[values: .contentType] == ["application/vnd.own+json"])
    #expect(interceptors.sent[values: .contentType] == ["application/vnd.own+json"])
  }

  @Test func streamThatWasNotTouchedCanBeSentAgain() async throws {
    let body = RequestBody.singleUse(
      length: 3,
      AsyncStream {
        $0.yield(Data("abc".utf8)); $0.finish()
      })
    _ = try await body.open()  // and nothing is read
    #expect(body.canBeSent && !body.isReplayable)

    let second = try await body.open()
    #expect(try await second.source.next() == Data("abc".utf8))
    #expect(!body.canBeSent)
    let error = await #expect(throws: HTTPError.self) { _ = try await body.open() }
    #expect(error?.kind == .bodyNotReplayable)
  }
}
