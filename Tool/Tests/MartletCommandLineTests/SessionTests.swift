@testable import MartletCommandLine
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import Testing

@Suite("What is kept between runs", .timeLimit(.minutes(5)))
struct SessionTests {
  /// A host that has sent Strict-Transport-Security over https is no longer asked over http; without a session it is.
  @Test func aSessionKeepsTheHostsThatRequireHTTPS() async throws {
    let security = StrictTransportSecurity(store: StrictHostsFile(in: run.folder.file(".config/martlet")))
    try await security.receive(
      ["Strict-Transport-Security": "max-age=1000"], from: #require(URL(string: "https://strict.example/")))

    for (options, scheme) in [(["--session", "s"], "https"), (["--session-read-only", "s"], "https"), ([], "http")] {
      let result = try await run.run(
        ["get", "http://strict.example:1/", "--resolve", "strict.example:127.0.0.1"] + options)
      #expect(result.errors.text.contains("(GET \(scheme)://strict.example:1/)"), "\(result.errors.text)")
      #expect(result.errors.text.contains("strict.example requires https") == (scheme == "https"))
    }
  }

  /// Not even a call over http makes it, until a host requires https.
  @Test func theFileOfThoseHostsIsMadeWithTheFirstOfThem() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let folder = run.folder.file(".config/martlet")
    for option in ["--session", "--session-read-only"] {
      _ = try await run("get", ":\(server.port)/", option, "ada")
      #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "strict-transport.sqlite").path))
    }
    let readOnly = StrictHostsFile(in: folder, isReadOnly: true)
    for (store, exists) in [(readOnly, false), (StrictHostsFile(in: folder), true)] {
      try await store.set(Data(), for: "key")
      #expect(FileManager.default.fileExists(atPath: folder.appending(path: "strict-transport.sqlite").path) == exists)
    }
    try await readOnly.removeAll()
    #expect(try await readOnly.keys() == ["key"])
  }

  private let run: TestRun

  init() throws { run = try TestRun() }

  private func file(_ server: LoopbackServer, _ name: String) -> URL {
    run.folder.file(".config/martlet/sessions/http___localhost_\(server.port)/\(name).json")
  }

  @Test func aSessionKeepsCookiesFieldsAndCredentials() async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "sid=1") }
    let target = ":\(server.port)/"
    _ = try await run("get", target, "--session", "ada", "X-Kept:1", "If-Match:\"2\"", "--auth", "u:p")
    _ = try await run("get", target, "--session", "ada")
    _ = try await run("get", target, "--session", "other")
    let second = try await server.request(2).fields
    #expect(second[.cookie] == "sid=1")
    #expect(second["X-Kept"] == "1")
    #expect(second[.authorization] == "Basic dTpw")
    #expect(second[.ifMatch] == nil)
    #expect(try await server.request(3).fields[.cookie] == nil)
    #expect(try run.permissions(of: file(server, "ada")) == 0o600)
    #expect(try run.permissions(of: file(server, "ada").deletingLastPathComponent()) == 0o700)
  }

  @Test func aSessionKeepsAllValuesOfAField() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    _ = try await run("get", ":\(server.port)/", "--session", "ada", "X-Kept:1", "X-Kept:2", "Accept:text/plain")
    _ = try await run("get", ":\(server.port)/", "--session", "ada")
    let second = try await server.request(2).fields
    #expect(second[values: "X-Kept"] == ["1", "2"])
    #expect(second[values: .accept] == ["text/plain"])
  }

  @Test func aSessionMergesAndKeepsTheCookiesOfItems() async throws {
    let server = try LoopbackServer { $0.path == "/set" ? .text("hi").with(.setCookie, "sid=1") : .text("hi") }
    let target = ":\(server.port)"
    _ = try await run("get", "\(target)/set", "--session", "ada")
    _ = try await run("get", "\(target)/", "--session", "ada", "Cookie:a=1; b=x=y", "Cookie:sid=2")
    _ = try await run("get", "\(target)/p/q", "--session", "ada")
    _ = try await run("get", "\(target)/", "--session-read-only", "ada", "Cookie:a=9")
    _ = try await run("get", "\(target)/", "--session", "ada", "Cookie:")
    _ = try await run("get", "\(target)/", "Cookie:a=1; b=2")
    var sent: [Set<String>] = []
    for number in 2...6 {
      sent.append(Set(CookieList.pairs(in: try await server.request(number).fields[.cookie] ?? "")))
    }
    let kept: Set = ["sid=2", "a=1", "b=x=y"]
    #expect(sent == [kept, kept, ["sid=2", "a=9", "b=x=y"], [], ["a=1", "b=2"]])
  }

  @Test func aSessionThatOthersCanReadIsNotUsed() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    _ = try await run("get", ":\(server.port)/", "--session", "ada")
    let path = file(server, "ada").path
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let result = try await run("get", ":\(server.port)/", "--session", "ada")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("chmod 600"))
    #expect(server.requests.count == 1)
  }

  @Test func aCookieFileIsReadAndWritten() async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "b=2") }
    try run.folder.write(Data("localhost\tFALSE\t/\tFALSE\t0\ta\t1\nnonsense\n".utf8), to: "c.txt")
    let result = try await run("get", ":\(server.port)/", "--cookies", "c.txt", "--overwrite")
    #expect(result.errors.text.contains(": ignored line 2"))
    #expect(try await server.request(1).fields[.cookie] == "a=1")
    let written = try run.text(of: "c.txt")
    #expect(written.contains("\ta\t1\n") && written.contains("\tb\t2\n"))
  }

  @Test func aPasswordThatIsLeftOutIsAskedFor() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    _ = try await run("get", ":\(server.port)/", "--auth", "ada", password: "secret")
    #expect(try await server.request(1).fields[.authorization] == "Basic YWRhOnNlY3JldA==")
  }

  @Test(arguments: [
    [#"Basic realm="r""#], [#"Digest realm="r", nonce="n", algorithm=X"#, #"Basic realm="r""#],
    [#"Digest realm="r", Basic realm="r""#],
  ])
  func digestDoesNotSendThePasswordToAServerThatWantsBasic(_ challenges: [String]) async throws {
    var fields = HTTPFields()
    for challenge in challenges { fields.append(challenge, for: .wwwAuthenticate) }
    let server = try LoopbackServer { [fields] _ in .status(.unauthorized, fields: fields) }
    let result = try await run("get", ":\(server.port)/", "--auth", "u:p", "--auth-type", "digest", "-v")
    #expect(result.errors.text.contains("no password is sent: the server asks for Basic, which is not allowed"))
    #expect(server.requests.map { $0.fields[.authorization] } == [nil])
  }

  @Test func digestIsSentToAServerThatOffersBasicToo() async throws {
    let server = try LoopbackServer { request in
      request.fields[.authorization]?.hasPrefix("Digest username=\"u\"") == true
        ? .text("hi")
        : .status(.unauthorized).with(.wwwAuthenticate, #"Basic realm="r", Digest realm="r", nonce="n", qop="auth""#)
    }
    let result = try await run("get", ":\(server.port)/", "--auth", "u:p", "--auth-type", "digest")
    #expect(result.text == "hi")
    #expect(server.requests.count == 2)
  }

  @Test func credentialsStayWithTheirOrigin() async throws {
    let other = try LoopbackServer { _ in .text("other") }
    let target = "http://127.0.0.1:\(other.port)/"
    let server = try LoopbackServer { _ in .redirect(to: target) }
    #expect(try await run("get", ":\(server.port)/", "--auth", "t", "--auth-type", "bearer").text == "other")
    #expect(try await server.request(1).fields[.authorization] == "Bearer t")
    #expect(try await other.request(1).fields[.authorization] == nil)
  }
}
