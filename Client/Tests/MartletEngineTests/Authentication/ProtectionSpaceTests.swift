import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Several realms of one origin.
@Suite(.timeLimit(.minutes(5)))
struct ProtectionSpaceTests {
  private static let anna = Credential(user: "anna", password: "secret")

  private func session(_ transport: any Transport, _ source: PasswordSource) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.credentials = [source]
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func get(_ path: String, _ session: HTTPSession) async throws -> HTTPStatus {
    try await session.data(for: HTTPRequest(.get, url("http://a.example\(path)"))).1.status
  }

  /// A server with a realm for each path, and one nonce for all of them.
  private static func digestServer() -> RecordingTransport {
    RecordingTransport(
      around: MockTransport { request in
        let challenge = "Digest realm=\"\(request.url.path)\", nonce=\"n\", qop=\"auth\""
        let sent = AuthenticationChallenge.challenges(in: request.fields, .authorization).first
        return sent?.realm == request.url.path
          ? .text("in") : .status(.unauthorized, fields: [.wwwAuthenticate: challenge])
      })
  }

  @Test func anotherRealmWithTheSameNonceIsAnotherSpace() async throws {
    let transport = Self.digestServer()
    let session = session(transport, PasswordSource(Self.anna, for: .any))

    for path in ["/a", "/b", "/b"] { #expect(try await get(path, session) == .ok) }

    let realms = transport.records.map { record in
      AuthenticationChallenge.challenges(in: record.request.fields, .authorization).first?.realm
    }
    #expect(realms == [nil, "/a", "/a", "/b", "/b"])
  }

  @Test func theFirstQuestionAboutAnotherRealmCountsNoFailure() async throws {
    let asked = Mutex<[String]>([])
    let transport = Self.digestServer()
    let source = PasswordSource(for: .any) { question in
      asked.withLock { $0.append("\(question.space.realm) \(question.failureCount)") }
      return Credential(user: question.space.realm, password: "x")
    }
    let session = session(transport, source)

    for path in ["/a", "/b"] { #expect(try await get(path, session) == .ok) }

    #expect(asked.withLock { $0 } == ["/a 0", "/b 0"])
  }

  @Test func aServerThatInventsRealmsIsAnsweredFourTimes() async throws {
    let count = Mutex(0)
    let transport = RecordingTransport(
      around: MockTransport { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        return .status(
          .unauthorized, fields: [.wwwAuthenticate: "Digest realm=\"\(number)\", nonce=n, qop=\"auth\""])
      })

    #expect(try await get("/", session(transport, PasswordSource(Self.anna, for: .any))) == .unauthorized)

    #expect(transport.records.count == 5)
  }

  /// Basic sends the same bytes to each realm, so a refusal is final, but only in its own realm.
  @Test func aRefusalByAnotherRealmDoesNotForgetThePassword() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        request.url.path == "/a" && request.fields.contains(.authorization)
          ? .text("in") : .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=\"\(request.url.path)\""])
      })
    let session = session(transport, PasswordSource(Self.anna, for: .any))

    let statuses = [try await get("/a", session), try await get("/b", session), try await get("/a", session)]

    #expect(statuses == [.ok, .unauthorized, .ok])
    #expect(transport.records.map { $0.request.fields.contains(.authorization) } == [false, true, true, true])
  }

  @Test func aPreemptivePasswordCannotBeForOneRealm() async {
    await #expect(processExitsWith: .failure) {
      _ = PasswordSource(Credential(user: "a", password: "b"), for: .any, realm: "r", offer: .preemptive)
    }
  }
}
