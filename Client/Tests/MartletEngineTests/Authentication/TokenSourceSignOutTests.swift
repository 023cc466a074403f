import CallDoubles
@_spi(Credentials) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Requests that began before a sign-out cannot undo it.
@Suite(.timeLimit(.minutes(5)))
struct TokenSourceSignOutTests {
  @Test func aRefusalAfterASignOutCausesNoRenewal() async throws {
    let renewals = Mutex(0)
    let source = TokenSource(AccessToken("old"), for: .origin(of: origin)) { _ in
      renewals.withLock { $0 += 1 }
      return AccessToken("new")
    }
    let arrived = Gate(), signedOut = Gate()
    var configuration = SessionConfiguration()
    configuration.credentials = [source]
    let session = HTTPSession(
      transport: MockTransport { request in
        guard request.fields[.authorization] == "Bearer old" else { return .text("welcome") }
        arrived.open()
        try await signedOut.wait()
        return .status(.unauthorized)
      }, configuration: configuration)
    @Sendable func status(_ path: String) async throws -> HTTPStatus {
      try await session.data(for: HTTPRequest(.get, url("http://a.example/\(path)"))).1.status
    }
    async let late = status("late")
    try await arrived.wait()

    source.use(nil)
    signedOut.open()

    #expect(try await late == .unauthorized)
    #expect(renewals.withLock { $0 } == 0)
    #expect(try await status("next") == .ok)
    #expect(renewals.withLock { $0 } == 1)
  }

  @Test(arguments: [false, true])
  func aRequestFromBeforeASignOutGetsNoTokenOfTheNextUser(isRenewed: Bool) async throws {
    let source = TokenSource(AccessToken("anna"), for: .origin(of: origin)) { _ in AccessToken("ben") }
    let (before, request) = (Call(), HTTPRequest(.get, url("http://a.example/x")))
    source.use(nil)
    if !isRenewed { source.use(AccessToken("ben")) }

    #expect(try await source.authorize(request, in: before).fields[.authorization] == nil)
    let refusal = try #require(Rejection(of: request, by: ResponseHead(status: .unauthorized)))
    #expect(try await !source.authenticate(after: refusal, in: before))
    #expect(try await source.authorize(request, in: Call()).fields[.authorization] == "Bearer ben")
  }

  /// The next user signs in while a request of the former one is being authorized.
  @Test func aRequestGetsNoTokenOfAUserWhoSignsInMeanwhile() throws {
    let source = Mutex<TokenSource?>(nil)
    let changes = Mutex(false)
    let tokens = TokenSource(
      AccessToken("anna"), for: .origin(of: origin),
      now: {
        if changes.withLock({ $0 }), let tokens = source.withLock({ $0 }) {
          changes.withLock { $0 = false }
          tokens.use(nil)
          tokens.use(AccessToken("ben"))
        }
        return .now
      }
    ) { _ in nil }
    source.withLock { $0 = tokens }
    var request = HTTPRequest(.get, url("http://a.example/x"))
    changes.withLock { $0 = true }
    _ = tokens.authorizeImmediately(&request, in: Call())
    #expect(request.fields[.authorization] == nil)
  }
}
