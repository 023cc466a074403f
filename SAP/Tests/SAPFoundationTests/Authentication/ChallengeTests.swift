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

/// Admits anna with Basic, with the password "secret" if there is no other.
private func guarded(by password: Shared<String> = Shared("secret")) throws -> LoopbackServer {
  try LoopbackServer { request in
    request.fields[.authorization] == "Basic " + Data("anna:\(password.value)".utf8).base64EncodedString()
      ? .text("welcome") : .text("refused", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="office""#)
  }
}

private func credential(
  _ password: String, _ persistence: URLCredential.Persistence = .none
) -> URLCredential { URLCredential(user: "anna", password: password, persistence: persistence) }

/// Sends a key to one origin.
private struct APIKey: CredentialSource {
  let scope: CredentialScope

  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    var request = request
    request.fields[.authorization] = "ApiKey k1"
    return request
  }
}

@Suite("Challenges", .timeLimit(.minutes(5)))
struct ChallengeTests {
  @Test func aSourceOfTheAppComesBeforeObservers() async throws {
    let (server, other) = (try guarded(), try guarded())
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret")) } }
    let session = SAPURLSession(
      configuration: SAPURLSession.plain, credentials: [APIKey(scope: .origin(of: server.url))])
    session.register(probe)

    let outcomes = [await session.outcome(of: server.url("/")), await session.outcome(of: other.url("/"))]

    #expect(outcomes.map(\.text) == ["welcome", "welcome"])
    let password = "Basic " + Data("anna:secret".utf8).base64EncodedString()
    #expect(server.requests.map { $0.fields[.authorization] } == ["ApiKey k1", password])
    #expect(other.requests.map { $0.fields[.authorization] } == [nil, password])
  }

  @Test func theDelegateIsAskedAfterTheObserversAndAnswers() async throws {
    let server = try guarded()
    let challenges = Mutex<[URLAuthenticationChallenge]>([])
    let delegate = DelegateProbe { probe in
      probe.onChallenge = { challenge in
        challenges.withLock { $0.append(challenge) }
        return .use(credential("secret"))
      }
    }
    let observer = ObserverProbe()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    session.register(observer)

    let outcome = await session.outcome(of: server.url("/"))

    #expect(outcome.text == "welcome")
    #expect(observer.log.filter { $0.hasPrefix("challenge") } == ["challenge 0"])
    let challenge = try #require(challenges.withLock { $0.first })
    #expect(challenge.protectionSpace.host == "127.0.0.1")
    #expect(challenge.protectionSpace.port == server.port)
    #expect(challenge.protectionSpace.realm == "office")
    #expect(challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
    #expect((challenge.failureResponse as? HTTPURLResponse)?.statusCode == 401)
    #expect(challenge.proposedCredential == nil)
  }

  @Test func withoutAnAnswerThe401IsTheCallers() async throws {
    let server = try guarded()
    let outcome = await SAPURLSession.uncached(ObserverProbe()).outcome(of: server.url("/"))

    #expect(outcome.status == 401)
    #expect(outcome.text == "refused")
    #expect(server.requests.count == 1)
  }

  @Test func aRefusedCredentialIsNotSentTwice() async throws {
    let server = try guarded()
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("wrong")) } }

    let outcome = await SAPURLSession.uncached(probe).outcome(of: server.url("/"))

    #expect(outcome.status == 401)
    #expect(server.requests.count == 2)
    #expect(probe.log.filter { $0.hasPrefix("challenge") } == ["challenge 0", "challenge 1"])
  }

  @Test func aSecondChallengeHasTheFailureCount() async throws {
    let server = try guarded()
    let proposed = Mutex<[String?]>([])
    let probe = ObserverProbe { probe in
      probe.onChallenge = { challenge in
        proposed.withLock { $0.append(challenge.proposedCredential?.password) }
        return .use(credential(challenge.previousFailureCount == 0 ? "wrong" : "secret"))
      }
    }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/")).text == "welcome")
    #expect(proposed.withLock { $0 } == [nil, "wrong"])
  }

  @Test func aPasswordIsNotSentToAnotherRealmOfItsServer() async throws {
    let server = try LoopbackServer { request in
      if request.target == "/b/x" { return .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="b""#]) }
      return request.fields.contains(.authorization)
        ? .redirect(to: "/b/x") : .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="a""#])
    }
    let probe = ObserverProbe { probe in
      probe.onChallenge = { challenge in
        challenge.protectionSpace.realm == "a" ? .use(credential("secret")) : .performDefaultHandling
      }
    }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/a/x")).status == 401)

    #expect(server.requests.map(\.target) == ["/a/x", "/a/x", "/b/x"])
    #expect(server.requests.map { $0.fields.contains(.authorization) } == [false, true, false])
  }

  @Test func theConfigurationsStorageAnswersIfNoHandlerDoes() async throws {
    let server = try guarded()
    let configuration = SAPURLSession.plain
    let space = URLProtectionSpace(
      host: "127.0.0.1", port: server.port, protocol: "http", realm: "office",
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    configuration.urlCredentialStorage?.set(credential("secret", .forSession), for: space)

    #expect(await SAPURLSession(configuration: configuration).outcome(of: server.url("/")).text == "welcome")
  }

  @Test func whatIsToLastForTheSessionIsProposedTheNextTime() async throws {
    let server = try guarded()
    let isFirst = Atomic(true)
    let probe = ObserverProbe { probe in
      probe.onChallenge = { _ in
        isFirst.exchange(false, ordering: .relaxed) ? .use(credential("secret", .forSession)) : .performDefaultHandling
      }
    }
    let session = SAPURLSession.uncached(probe)

    for _ in 0..<2 { #expect(await session.outcome(of: server.url("/")).text == "welcome") }
  }

  @Test(arguments: [
    [#"Digest realm="office", nonce="n", qop="auth""#, #"Basic realm="office""#],
    [#"Digest realm="office", nonce="n", qop="auth", Basic realm="office""#],
  ])
  func ifTheStrongestSchemeIsRejectedTheNextIsAskedAbout(_ lines: [String]) async throws {
    var challenges = HTTPFields()
    for line in lines { challenges.append(line, for: .wwwAuthenticate) }
    let server = try LoopbackServer { [challenges] request in
      request.fields[.authorization]?.hasPrefix("Basic") == true
        ? .text("welcome") : .status(.unauthorized, fields: challenges)
    }
    let methods = Mutex<[String]>([])
    let probe = ObserverProbe { probe in
      probe.onChallenge = { challenge in
        let method = challenge.protectionSpace.authenticationMethod
        methods.withLock { $0.append(method) }
        return method == NSURLAuthenticationMethodHTTPDigest ? .rejectProtectionSpace : .use(credential("secret"))
      }
    }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/")).text == "welcome")
    #expect(methods.withLock { $0 } == [NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTTPBasic])
  }

  @Test func aRejectedSchemeIsNotAskedAboutAgain() async throws {
    let server = try LoopbackServer { _ in
      .status(
        .unauthorized,
        fields: [
          .wwwAuthenticate: #"Digest realm="office", nonce="n", algorithm=X"#,
          .wwwAuthenticate: #"Basic realm="office""#,
        ])
    }
    let probe = ObserverProbe { $0.onChallenge = { _ in .rejectProtectionSpace } }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/")).status == 401)
    #expect(probe.log.filter { $0.hasPrefix("challenge") } == ["challenge 0"])
    #expect(server.requests.count == 1)
  }

  @Test func aDigestIsComputed() async throws {
    let server = try LoopbackServer { request in
      guard let field = request.fields[.authorization] else {
        return .status(.unauthorized, fields: [.wwwAuthenticate: #"Digest realm="r", nonce="n", qop="auth""#])
      }
      return .text(field.hasPrefix("Digest username=\"anna\"") && field.contains("uri=\"/a\"") ? "welcome" : field)
    }
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret")) } }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/a")).text == "welcome")
  }
}

@Suite("Basic credentials", .timeLimit(.minutes(5)))
struct BasicCredentialTests {
  @Test func aPersistenceOfNoneIsAskedForAgain() async throws {
    let server = try guarded()
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret")) } }
    let session = SAPURLSession.uncached(probe)

    for _ in 0..<2 { #expect(await session.outcome(of: server.url("/")).text == "welcome") }

    #expect(probe.log.filter { $0 == "challenge 0" }.count == 2)
  }

  @Test func whatWasAcceptedIsSentAtOnceTheNextTime() async throws {
    let server = try guarded()
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret", .forSession)) } }
    let session = SAPURLSession.uncached(probe)

    for number in 0..<5 { #expect(await session.outcome(of: server.url("/list/\(number)")).text == "welcome") }

    #expect(server.requests.count == 6)
    #expect(probe.log.filter { $0.hasPrefix("challenge") } == ["challenge 0"])
  }

  @Test func whatAnObserverOfTheModuleAnswersIsSentAtOnceUntilItLeaves() async throws {
    let server = try guarded()
    let store = BasicCredentialStorage()
    try store.store(credential: BasicCredential(username: "anna", password: "secret"), for: server.url("/"))
    let observer = BasicAuthenticationObserver(credentialStore: store)
    let session = SAPURLSession.uncached(observer)

    for _ in 0..<5 { #expect(await session.outcome(of: server.url("/")).text == "welcome") }
    #expect(server.requests.count == 6)

    session.unregister(observer)
    #expect(await session.outcome(of: server.url("/")).status == 401)
  }

  @Test func theUserIsAskedAgainIfAnObserversCredentialIsNoLongerAccepted() async throws {
    final class Login: BasicCredentialDiscovery {
      let passwords = Shared(["secret", "changed", "never asked for"])

      func provideBasicCredential(
        for url: URL, challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
      ) {
        let password = passwords.value[0]
        passwords.change { $0.removeFirst() }
        completionHandler(BasicCredential(username: "anna", password: password), nil)
      }
    }
    let password = Shared("secret")
    let server = try guarded(by: password)
    let login = Login()
    let session = SAPURLSession.uncached(BasicAuthenticationObserver(credentialDiscovery: login))
    #expect(await session.outcome(of: server.url("/")).text == "welcome")

    password.change { $0 = "changed" }

    for _ in 0..<2 { #expect(await session.outcome(of: server.url("/")).text == "welcome") }
    #expect(login.passwords.value == ["never asked for"])
    #expect(server.requests.count == 5)
  }

  @Test func aSignOutForgetsWhatWasAccepted() async throws {
    let server = try guarded()
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret", .forSession)) } }
    let session = SAPURLSession.uncached(probe)
    _ = await session.outcome(of: server.url("/"))

    session.clearCredentials()
    probe.onChallenge = { _ in .cancel(TestFailure(name: "signed out")) }
    _ = await session.outcome(of: server.url("/"))

    #expect(server.requests.map { $0.fields.contains(.authorization) } == [false, true, false])
  }

  @Test func whatIsAcceptedNoMoreIsForgotten() async throws {
    let password = Shared("secret")
    let server = try guarded(by: password)
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential(password.value, .forSession)) } }
    let session = SAPURLSession.uncached(probe)

    _ = await session.outcome(of: server.url("/"))
    password.change { $0 = "changed" }
    #expect(await session.outcome(of: server.url("/")).text == "welcome")
    #expect(await session.outcome(of: server.url("/")).text == "welcome")

    #expect(server.requests.count == 5)
    #expect(probe.log.filter { $0.hasPrefix("challenge") } == ["challenge 0", "challenge 1"])
  }

  @Test func anAcceptedPasswordIsSentNeitherToAnotherOriginNorAboveItsPath() async throws {
    let other = try guarded()
    let server = try LoopbackServer { request in
      request.target == "/a/away"
        ? .status(.found, fields: [.location: other.url("/a/b").absoluteString])
        : request.fields[.authorization] == nil && request.target.hasPrefix("/a/")
          ? .text("refused", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="office""#) : .text("welcome")
    }
    let isAsked = Atomic(true)
    let probe = ObserverProbe { probe in
      probe.onChallenge = { _ in
        isAsked.load(ordering: .relaxed) ? .use(credential("secret", .forSession)) : .performDefaultHandling
      }
    }
    let session = SAPURLSession.uncached(probe)
    _ = await session.outcome(of: server.url("/a/b"))
    _ = await session.outcome(of: other.url("/a/b"))
    isAsked.store(false, ordering: .relaxed)
    let known = other.requests.count

    _ = await session.outcome(of: server.url("/"))
    _ = await session.outcome(of: server.url("/a/away"))

    #expect(server.requests.map { $0.fields.contains(.authorization) } == [false, true, false, true])
    #expect(other.requests[known].fields.contains(.authorization) == false)
  }

  @Test func aNonceOfDigestServesSeveralTasks() async throws {
    let server = try LoopbackServer { request in
      request.fields[.authorization] == nil
        ? .status(.unauthorized, fields: [.wwwAuthenticate: #"Digest realm="r", nonce="n", qop="auth""#])
        : .text("welcome")
    }
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret", .forSession)) } }
    let session = SAPURLSession.uncached(probe)

    for _ in 0..<3 { _ = await session.outcome(of: server.url("/")) }

    #expect(server.requests.count == 4)
    let fields = server.requests.compactMap { $0.fields[.authorization] }
    for (number, field) in fields.enumerated() { #expect(field.contains("nc=0000000\(number + 1)")) }
  }

  @Test func aNameThatIsNotASCIIGoesAsUTF8() async throws {
    let expected = "Basic " + Data("jürgen:größe".utf8).base64EncodedString()
    let server = try LoopbackServer { request in
      request.fields[.authorization] == expected
        ? .text("welcome") : .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="r", charset="UTF-8""#])
    }
    let probe = ObserverProbe { probe in
      probe.onChallenge = { _ in .use(URLCredential(user: "jürgen", password: "größe", persistence: .none)) }
    }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/")).text == "welcome")
  }
}
