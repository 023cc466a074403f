#if os(Linux)
import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import Testing

@Suite("Sessions of the default configuration, in several runs", .timeLimit(.minutes(5)))
struct RememberingTests {
  private let program: SAPProgram
  private let server: LoopbackServer
  private let password = "Basic " + Data("anna:anna-password".utf8).base64EncodedString()

  init() throws {
    program = SAPProgram(folder: try TemporaryFolder())
    server = try LoopbackServer { [password] request in
      switch request.path {
      case "/login":
        .text("in").with(.setCookie, "ID=anna-cookie; Max-Age=3600").with(.setCookie, "S=anna-session")
      case "/replace": .text("in").with(.setCookie, "app=of-the-server; Max-Age=3600; Path=/")
      case "/picture": .text("anna-picture").with(.cacheControl, "max-age=3600, private")
      case "/private":
        request.fields[.authorization] == password
          ? .text("welcome") : .text("refused", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="office""#)
      default: .text(request.fields[.cookie] ?? "none")
      }
    }
  }

  private func url(_ path: String) -> String { server.url(path).absoluteString }

  @Test func cookiesResponsesAndPermanentCredentialsOutliveTheProgram() async throws {
    #expect(
      try await program.run("default", url("/login"), url("/picture"), "password=anna:anna-password", url("/private"))
        == "200 in\n200 anna-picture\n200 welcome\n")
    let before = server.requests.count

    #expect(try await program.run("default", "cookies", url("/show")) == "ID=anna-cookie\n200 ID=anna-cookie\n")
    #expect(try await program.run("default", url("/picture"), url("/private")) == "200 anna-picture\n200 welcome\n")
    #expect(server.requests.dropFirst(before).map(\.path) == ["/show", "/private", "/private"])
  }

  @Test func theSessionsOfARunShareCookies() async throws {
    #expect(
      try await program.run("default", url("/login"), url("/show")) == "200 in\n200 ID=anna-cookie; S=anna-session\n")
  }

  @Test func onlyTheUserCanReadTheFiles() async throws {
    _ = try await program.run("default", url("/login"), url("/picture"), "password=anna:anna-password", url("/private"))

    #expect(program.files.contains { $0.lastPathComponent == "cookies.sqlite" })
    #expect(program.files.contains { $0.lastPathComponent == "responses.sqlite" })
    for file in program.files {
      let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
      let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
      #expect(attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600), "\(file.path)")
    }
  }

  @Test func anEphemeralSessionKeepsAndWritesNothing() async throws {
    #expect(
      try await program.run(
        "ephemeral", url("/login"), url("/picture"), "password=anna:anna-password", url("/private"), url("/show"))
        == "200 in\n200 anna-picture\n200 welcome\n200 ID=anna-cookie; S=anna-session\n")

    #expect(program.files.isEmpty)
    #expect(program.files(with: "anna-").isEmpty)
    #expect(try await program.run("ephemeral", url("/show"), url("/private")) == "200 none\n401 refused\n")
  }

  /// The session's folders are files, so nothing can be stored.
  @Test func aLogThatUsesASessionMayReportThatNothingCanBeStored() async throws {
    for folder in ["data", "cache"] { try program.folder.write(Data(), to: folder + "/sap-program/SAPFoundation") }

    let printed = try await program.run("default", "log", url("/login"), url("/show"))

    #expect(printed.contains("0 cookies: SAP.Foundation.SAPURLSession.SAPHTTPCookieStorage cookies are kept in memory"))
    #expect(printed.contains("0 cookies: SAP.Foundation.SAPURLSession.URLCache responses are stored in memory"))
    #expect(printed.contains("0 cookies: SAP.Foundation.SAPURLSession nothing is kept for the next run"))
    #expect(printed.hasSuffix("200 in\n200 ID=anna-cookie; S=anna-session\n"))
  }

  // MARK: - Sign-outs

  enum SignOut: String, CaseIterable { case clear, shared = "clear-shared", all = "sign-out" }

  enum Moment: CaseIterable { case inTheSameRun, inTheNextRun, beforeTheFirstSessionOfARun }

  @Test(arguments: SignOut.allCases, Moment.allCases)
  func afterASignOutNothingOfTheUserIsSentUsedOrReadable(_ signOut: SignOut, _ moment: Moment) async throws {
    let login =
      [url("/login"), url("/picture")] + (signOut == .all ? ["password=anna:anna-password", url("/private")] : [])
    let use = [url("/show"), url("/picture"), url("/private")]
    let after = "200 none\n200 anna-picture\n401 refused\n"
    switch moment {
    case .inTheSameRun:
      let printed = try await program.run(["default"] + login + [signOut.rawValue])
      #expect(printed.hasPrefix("200 in\n"))
    case .inTheNextRun:
      _ = try await program.run(["default"] + login)
      _ = try await program.run(["default", "cookies", signOut.rawValue])
    case .beforeTheFirstSessionOfARun:
      _ = try await program.run(["default"] + login)
      _ = try await program.run(["default", signOut.rawValue, "cookies"])
    }
    for secret in ["anna-cookie", "anna-picture", "anna-password"] {
      #expect(program.files(with: secret).isEmpty, "\(secret) can be read")
    }
    let before = server.requests.count

    #expect(try await program.run(["default"] + use) == after)
    #expect(server.requests.dropFirst(before).map(\.path) == ["/show", "/picture", "/private"])
  }

  @Test func theNextUserInTheSameRunIsNotThePreviousOne() async throws {
    #expect(
      try await program.run("default", url("/login"), "clear-shared", url("/show"), url("/login"), url("/show"))
        == "200 in\n200 none\n200 in\n200 ID=anna-cookie; S=anna-session\n")
  }

  // MARK: - HTTPCookieStorage.shared

  @Test func aCookieOfTheSharedStorageIsSentUntilItIsDeleted() async throws {
    #expect(
      try await program.run(
        "default", "set-cookie=app=1@127.0.0.1", url("/show"), "set-cookie=app=2@127.0.0.1", url("/show"),
        "delete-cookie=app", url("/show")) == "200 app=1\n200 app=2\n200 none\n")
  }

  @Test func aCookieOfTheSharedStorageThatAServerReplacedStaysReplacedInTheNextRun() async throws {
    #expect(
      try await program.run("default", "set-cookie=app=1@127.0.0.1", url("/replace"), url("/show"))
        == "200 in\n200 app=of-the-server\n")

    #expect(try await program.run("default", url("/show")) == "200 app=of-the-server\n")
    #expect(
      try await program.run("default", "set-cookie=app=2@127.0.0.1", url("/show"), "delete-cookie=app")
        == "200 app=2\n")
  }

  @Test func whatWasDeletedBeforeTheFirstSessionOfARunIsNotSent() async throws {
    _ = try await program.run("default", "set-cookie=app=1@127.0.0.1", url("/show"))

    #expect(try await program.run("default", "delete-cookie=app", url("/show")) == "200 none\n")
  }
}
#endif
