import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletCommandLine

@Suite("Credentials of options, URLs and files", .timeLimit(.minutes(5)))
struct CredentialTests {
  private let run: TestRun
  /// Answers with the `Authorization` that it got.
  private let server: LoopbackServer

  init() throws {
    run = try TestRun()
    server = try LoopbackServer { request in
      guard request.path != "/strict" else {
        return .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r, Digest realm=r, nonce=n"])
      }
      let value = request.fields[.authorization] ?? "none"
      let password = value.hasPrefix("Basic ") ? Data(base64Encoded: String(value.dropFirst(6))) : nil
      return .text(password.map { String(decoding: $0, as: UTF8.self) } ?? value)
    }
    let netrc = """
      machine 127.0.0.1 login ada password netrc-a
      machine 127.0.0.1 login bob password netrc-b
      default login guest password netrc-g
      """
    let file = try run.folder.write(Data(netrc.utf8), to: ".netrc")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }

  private func target(_ user: String, _ path: String = "/") -> String {
    "http://\(user)127.0.0.1:\(server.port)\(path)"
  }

  @Test(arguments: [
    ("u:p@", [], "u:p"), ("u%40x:p%2F@", [], "u@x:p/"), ("u@", [], "u:"), ("u:@", [], "u:"), ("", [], "none"),
    ("", ["--netrc"], "ada:netrc-a"), ("bob@", ["--netrc"], "bob:netrc-b"), ("bob:p@", ["--netrc"], "bob:p"),
    ("carol@", ["--netrc"], "carol:"), ("bob:@", ["--netrc"], "bob:"), ("bob@", [], "bob:"),
    ("bob:p@", ["--auth", "u:q"], "u:q"), ("bob:p@", ["--auth", "u:q", "--netrc"], "u:q"),
    ("", ["--auth", "bob", "--netrc"], "bob:netrc-b"),
    ("bob:p@", ["--auth", "t", "--auth-type", "bearer"], "Bearer t"),
    ("u:p@", ["--auth-type", "digest"], "none"),
  ])
  func theFirstRequestHas(_ user: String, _ options: [String], sent: String) async throws {
    #expect(try await run.run(["get", target(user)] + options).text == sent)
    #expect(server.requests.count == 1)
    #expect(server.requests.allSatisfy { !$0.target.contains("@") })
  }

  @Test(arguments: [
    ("bob:wrong@", ["--netrc"], ["bob:wrong"]), ("carol@", ["--netrc"], ["carol:"]),
    ("", ["--auth", "bob:wrong", "--netrc"], ["bob:wrong"]), ("bob@", ["--netrc"], ["bob:netrc-b"]),
  ])
  func afterARefusalNoOtherUserActs(_ user: String, _ options: [String], basic: [String]) async throws {
    let result = try await run.run(["get", target(user, "/strict"), "--check-status"] + options)

    #expect(result.code == .clientError)
    let sent = server.requests.compactMap { $0.fields[.authorization] }
    let passwords = sent.filter { $0.hasPrefix("Basic ") }.compactMap { Data(base64Encoded: String($0.dropFirst(6))) }
    #expect(passwords.map { String(decoding: $0, as: UTF8.self) } == basic)
    let name = basic[0].prefix { $0 != ":" }
    #expect(sent.filter { $0.hasPrefix("Digest ") }.allSatisfy { $0.contains("username=\"\(name)\"") })
  }

  @Test func theURLsPasswordIsKeptInASessionAndIsNotSentToAnotherOrigin() async throws {
    let other = try LoopbackServer { .text($0.fields[.authorization] ?? "none") }
    let redirecting = try LoopbackServer { _ in .redirect(to: other.url.absoluteString) }

    #expect(try await run("get", "http://u:p@127.0.0.1:\(redirecting.port)/").text == "none")
    _ = try await run("get", target("u:p@"), "--session=./s.json")
    #expect(try await run("get", target(""), "--session=./s.json").text == "u:p")
  }

  @Test func theCurlCommandSendsTheURLsPasswordAtOnce() async throws {
    let text = try await run("get", target("u:p@"), "--curl", "--show-secrets").text
    #expect(text.contains("Authorization: Basic dTpw"))
    #expect(!text.contains("--anyauth"))
  }
}
