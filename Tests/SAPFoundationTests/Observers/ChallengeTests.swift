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

/// Lets anna in, with the password "secret", by Basic.
private func guarded() throws -> LoopbackServer {
  try LoopbackServer { request in
    request.fields[.authorization] == "Basic YW5uYTpzZWNyZXQ="
      ? .text("welcome") : .text("refused", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="office""#)
  }
}

private func credential(
  _ password: String, _ persistence: URLCredential.Persistence = .none
) -> URLCredential { URLCredential(user: "anna", password: password, persistence: persistence) }

@Suite("Row 22: challenges", .timeLimit(.minutes(5)))
struct Row22ChallengeTests {
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

  @Test func aSecondAttemptIsToldHowOftenItFailed() async throws {
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

  @Test func theStorageOfTheConfigurationAnswersWhereNobodyElseDoes() async throws {
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

  @Test func whereTheStrongestSchemeIsRejectedTheNextIsAskedAbout() async throws {
    let server = try LoopbackServer { request in
      request.fields[.authorization]?.hasPrefix("Basic") == true
        ? .text("welcome")
        : .status(
          .unauthorized,
          fields: [
            .wwwAuthenticate: #"Digest realm="office", nonce="n", qop="auth""#,
            .wwwAuthenticate: #"Basic realm="office""#,
          ])
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

@Suite("Row 23: basic credentials", .timeLimit(.minutes(5)))
struct Row23BasicCredentialTests {
  @Test func aPersistenceOfNoneIsAskedForAgain() async throws {
    let server = try guarded()
    let probe = ObserverProbe { $0.onChallenge = { _ in .use(credential("secret")) } }
    let session = SAPURLSession.uncached(probe)

    for _ in 0..<2 { #expect(await session.outcome(of: server.url("/")).text == "welcome") }

    #expect(probe.log.filter { $0 == "challenge 0" }.count == 2)
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
