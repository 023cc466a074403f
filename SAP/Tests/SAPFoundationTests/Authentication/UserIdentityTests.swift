#if os(Linux)
import Foundation
import FoundationNetworking
import Martlet
import MartletTesting
import Testing

@testable import SAPFoundation

@Suite("User identities", .timeLimit(.minutes(5)))
struct UserIdentityTests {
  /// Provides one certificate after another.
  private final class Enrolment: UserIdentityObtaining, Sendable {
    let calls = Shared(0)
    private let files: [Result<URL, TestFailure>]

    init(_ files: Result<URL, TestFailure>...) { self.files = files }

    func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
      let number = calls.value
      calls.change { $0 += 1 }
      guard number < files.count else { return completionHandler(nil, nil) }
      do { completionHandler(try Data(contentsOf: files[number].get()), nil) } catch { completionHandler(nil, error) }
    }
  }

  private let server: PythonTLS
  private let store = UserIdentityStorage()

  init() throws { server = try PythonTLS() }

  private func session(_ enrolment: Enrolment, _ store: any UserIdentityStoring) -> SAPURLSession {
    var settings = ConnectionConfiguration()
    settings.tls.authorities = server.file("ca.pem")
    let session = SAPURLSession(configuration: SAPURLSession.plain, in: .init(transport: IdentifiedTransport(settings)))
    session.register(UserIdentityObserver(userIdentityDiscovery: enrolment, identityStore: store))
    return session
  }

  private func texts(_ session: SAPURLSession, _ count: Int) async -> [Outcome] {
    let url = server.url
    return await withTaskGroup(of: Outcome.self) { group in
      for number in 0..<count { group.addTask { await session.get(url.appending(path: "\(number)")) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func oneIsObtainedForAllAndStored() async throws {
    let enrolment = Enrolment(.success(server.file("good.p12")))
    let session = session(enrolment, store)

    #expect(await texts(session, 8).allSatisfy { $0.text == "good" })

    #expect(enrolment.calls.value == 1)
    #expect(try store.identity(for: server.url) == Data(contentsOf: server.file("good.p12")))
    session.clearCredentials()
    #expect(try store.identity(for: server.url) == nil)
  }

  @Test func aStoredOneIsUsed() async throws {
    try store.store(identity: Data(contentsOf: server.file("good.p12")), for: server.url)
    let enrolment = Enrolment()

    #expect(await session(enrolment, store).get(server.url).text == "good")
    #expect(enrolment.calls.value == 0)
  }

  @Test(arguments: ["bad.p12", "broken.p12"]) func oneThatIsRefusedIsObtainedAgain(stored: String) async throws {
    try store.store(identity: Data(contentsOf: server.file(stored)), for: server.url)
    let enrolment = Enrolment(.success(server.file("good.p12")))
    let session = session(enrolment, store)

    let outcomes = await texts(session, 6)
    #expect(outcomes.allSatisfy { $0.text == "good" }, "\(outcomes.compactMap(\.error))")

    #expect(enrolment.calls.value == 1)
    #expect(try store.identity(for: server.url) == Data(contentsOf: server.file("good.p12")))
  }

  @Test func aNewOneThatIsRefusedTooFailsAllThatWait() async throws {
    try store.store(identity: Data(contentsOf: server.file("bad.p12")), for: server.url)
    let enrolment = Enrolment(.success(server.file("bad.p12")), .success(server.file("good.p12")))
    let session = session(enrolment, store)

    let outcome = await session.get(server.url)

    #expect(outcome.code == .clientCertificateRejected, "\(String(describing: outcome.error))")
    #expect(enrolment.calls.value == 1)
    #expect(try store.identity(for: server.url) == nil)
    #expect(await session.get(server.url).text == "good")
  }

  @Test func whatObtainingFailsWithIsTheTasksError() async throws {
    let session = session(Enrolment(.failure(TestFailure(name: "no certificate"))), store)

    #expect(await session.get(server.url).error as? TestFailure == TestFailure(name: "no certificate"))
  }
}
#endif
