#if os(Linux)
import Foundation
import FoundationNetworking
import Martlet
import MartletTesting
import SAPFoundationTesting
import TestServers
import Testing

import SAPFioriFlows
@testable import SAPFoundation

/// Client certificates of several users, and of none, at one server.
@Suite("Client certificates of several users", .timeLimit(.minutes(5)))
struct UserCertificateTests {
  /// Answers challenges with the certificate of the current user; nil for none.
  private final class Users: SAPURLSessionDelegate {
    let current: Shared<SAPClientCertificate?>

    init(_ certificate: SAPClientCertificate?) { current = Shared(certificate) }

    func sapURLSession(
      _ session: SAPURLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
    ) {
      guard challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod,
        let certificate = current.value
      else { return completionHandler(.performDefaultHandling) }
      completionHandler(.use(certificate))
    }
  }

  private func session(
    _ authority: URL, _ users: Users, _ versions: ConnectionConfiguration.Versions = .automatic
  ) -> SAPURLSession {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = authority
    connection.versions = versions
    connection.idleLifetime = .seconds(3600)  // no connection is closed because it is idle
    return SAPURLSession(configuration: SAPURLSession.plain, connection: connection, delegate: users)
  }

  private func report(_ session: SAPURLSession, _ url: URL) async throws -> PythonTLSServer.Report {
    let outcome = await session.outcome(of: url)
    let data = try #require(outcome.data, "\(String(describing: outcome.error))")
    return try JSONDecoder().decode(PythonTLSServer.Report.self, from: data)
  }

  private func certificate(_ server: PythonTLSServer, _ name: String) -> SAPClientCertificate {
    SAPClientCertificate(.pem(certificate: server.file("\(name).pem"), key: server.file("\(name).key")))
  }

  /// Waits until only this session's connection to the server is open. Returns the last report.
  private func onlyConnection(of session: SAPURLSession, _ url: URL) async throws -> PythonTLSServer.Report {
    while true {
      let report = try await report(session, url)
      if report.open == 1 { return report }
    }
  }

  @Test(arguments: [(ConnectionConfiguration.Versions.http1, "HTTP/1.1"), (.automatic, "HTTP/2.0")])
  func noConnectionServesAnotherUserAfterASignOut(
    _ versions: ConnectionConfiguration.Versions, _ version: String
  ) async throws {
    let nginx = try Nginx.shared.get()
    let folder = nginx.authority.folder
    let certificates = ["client", "stranger", nil].map { name in
      name.map { SAPClientCertificate(.pem(certificate: folder.file("\($0).pem"), key: folder.file("\($0).key"))) }
    }
    let users = Users(nil)
    let session = session(nginx.authority.certificate, users, versions)
    var answers: [[String]] = []

    for certificate in certificates + certificates {
      users.current.change { $0 = certificate }
      for _ in 0..<2 {
        let text = try #require(await session.outcome(of: nginx.user("/user")).text)
        answers.append(text.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
      }
      session.clearCredentials()
    }

    let names = ["CN=client", "CN=stranger.invalid", ""].flatMap { [$0, $0] }
    #expect(answers.map(\.first) == names + names)
    #expect(answers.allSatisfy { $0.last == version })
    // a certificate's connection is used again until the sign-out, and never after it
    let connections = answers.map { $0[1] }
    for index in stride(from: 0, to: 12, by: 2) { #expect(connections[index] == connections[index + 1]) }
    let certified = [0, 2, 6, 8].map { connections[$0] }
    #expect(Set(certified + [connections[4]]).count == 5)
  }

  @Test func aSignOutClosesTheConnectionsOfCertificates() async throws {
    let server = try PythonTLSServer()
    let users = Users(certificate(server, "client"))
    let session = session(server.authority, users)
    let url = server.url(.client)
    #expect(try await report(session, url).client == "client")

    users.current.change { [certificate = certificate(server, "good")] in $0 = certificate }
    session.clearCredentials()

    let report = try await onlyConnection(of: session, url)
    #expect(report.client == "good" && report.connections == 2)
  }

  @Test func theConnectionsOfARemovedCertificateAreClosed() async throws {
    let server = try PythonTLSServer()
    let users = Users(certificate(server, "client"))
    let session = session(server.authority, users)
    let url = server.url(.client), origin = try #require(Origin(url))
    #expect(try await report(session, url).client == "client")

    users.current.change { [certificate = certificate(server, "good")] in $0 = certificate }
    #expect(try await report(session, url).client == "client")  // the answer is kept
    session.removeTLSAnswer(for: origin)

    let report = try await onlyConnection(of: session, url)
    #expect(report.client == "good" && report.connections == 2)
  }

  @Test func aResetClosesTheConnectionsOfCertificates() async throws {
    final class Onboarding: OnboardingSession {}
    let server = try PythonTLSServer()
    let url = server.url(.client)
    let sessions = [
      session(server.authority, Users(certificate(server, "client"))),
      session(server.authority, Users(certificate(server, "good"))),
    ]
    let next = Shared(0)
    let manager = SessionOpener<Onboarding> { done in
      done(Onboarding(sapURLSession: sessions[next.value]), nil)
    }
    manager.open { #expect($0 == nil) }
    #expect(try await report(try #require(manager.onboardingSession?.sapURLSession), url).client == "client")

    manager.reset()
    next.change { $0 += 1 }
    manager.open { #expect($0 == nil) }

    let second = try #require(manager.onboardingSession?.sapURLSession)
    let report = try await onlyConnection(of: second, url)
    #expect(report.client == "good" && report.connections == 2)
    withExtendedLifetime(sessions) {}
  }

  // MARK: - Questions about servers

  private func session(_ server: PythonTLSServer, perHost: Int) -> SAPURLSession {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.authority
    connection.connectionLimitPerHost = perHost
    connection.idleLifetime = .seconds(3600)
    return SAPURLSession(configuration: SAPURLSession.plain, connection: connection)
  }

  @Test func anObserverIsAskedAboutAServerWithAnOpenConnection() async throws {
    let server = try PythonTLSServer()
    let session = session(server, perHost: 6)
    #expect(try await report(session, server.url(.good)).connections == 1)

    session.register(
      ObserverProbe { probe in
        probe.onChallenge = { challenge in
          challenge.protectionSpace.sapServerTrust == nil ? .performDefaultHandling : .rejectProtectionSpace
        }
      })

    #expect(await session.outcome(of: server.url(.good)).code == .serverCertificateUntrusted)
  }

  @Test func connectionsWithAndWithoutQuestionsCountForOneLimit() async throws {
    let server = try PythonTLSServer()
    let session = session(server, perHost: 1)
    #expect(try await report(session, server.url(.good)).open == 1)

    session.register(ObserverProbe())

    #expect(try await onlyConnection(of: session, server.url(.good)).connections == 2)
  }
}
#endif
