@testable import MartletCommandLine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

/// The options of connections and credentials, with nginx, tinyproxy and Python's server.
@Suite("Real servers", .timeLimit(.minutes(5)))
struct RealServerTests {
  private let nginx: Nginx
  private let run: TestRun

  init() throws {
    nginx = try Nginx.shared.get()
    run = try TestRun()
  }

  private var authority: String { nginx.authority.certificate.path }

  private func key(_ name: String) -> String { nginx.authority.folder.file(name).path }

  private func url(_ url: URL) -> String { url.absoluteString }

  @Test func aServerOfAPrivateAuthorityIsTrustedOnRequest() async throws {
    let target = url(nginx.tls("/hello.txt"))
    let refused = try await run("get", target)
    #expect(refused.code == .tls)
    #expect(refused.errors.text.contains("--ca FILE trusts an authority; --insecure accepts any certificate"))
    #expect(try await run("get", target, "--ca", authority).text == "hello")
    #expect(try await run("get", target, "--insecure").text == "hello")
    let stranger = try await run("get", url(nginx.stranger("/hello.txt")), "--ca", authority)
    #expect(stranger.code == .tls)
    #expect(stranger.errors.text.contains("stranger.invalid"))
  }

  @Test func theTimelineHasABarForTLS() async throws {
    let target = url(nginx.tls("/hello.txt"))
    #expect(try await run("get", target, "--ca", authority, "--timeline", "a.html").text == "hello")
    #expect(try run.text(of: "a.html").contains("<i class=\"tls\" style="))
    #expect(try await run("get", target, "--timeline", "b.html").code == .tls)
    let failed = try run.text(of: "b.html")
    #expect(failed.contains("<i class=\"tls\" style=") && !failed.contains("<i class=\"receive\" style="))
  }

  @Test func aPinnedKeyIsDemandedAlsoOfACertificateThatIsAccepted() async throws {
    let target = url(nginx.tls("/hello.txt"))
    let pin = try nginx.authority.pin(of: "server")
    let other = try nginx.authority.pin(of: "stranger")
    #expect(try await run("get", target, "--ca", authority, "--pin", pin).text == "hello")
    #expect(try await run("get", target, "--ca", authority, "--pin", other, "--pin", "sha256//" + pin).text == "hello")
    for trust in [["--ca", authority], ["--insecure"]] {
      let result = try await run.run(["get", target, "--pin", other] + trust)
      #expect(result.code == .tls)
      #expect(result.errors.text.contains("its pin is \(pin)"))
      #expect(!result.errors.text.contains("--insecure accepts"))
    }
  }

  @Test func theClientsCertificateComesFromItsFiles() async throws {
    let target = url(nginx.client("/certificate"))
    let password = TestAuthority.password
    let ways = [
      ["--cert", key("client.pem"), "--key", key("client.key")],
      ["--cert", key("client.pem"), "--key", key("client.locked.key"), "--cert-password", password],
      ["--cert", key("client.p12"), "--cert-password", password],
    ]
    for way in ways {
      #expect(try await run.run(["get", target, "--ca", authority] + way).text == "CN=client", "\(way)")
    }
    let mistakes = [
      (["--cert", key("client.p12"), "--cert-password", "no"], ExitCode.tls, "is the password right?"),
      (["--cert", key("client.pem")], .tls, "there is no private key"),
      (["--cert", key("client.pem"), "--key", key("server.key")], .tls, "key values mismatch"),
      (["--cert", "none.pem"], .failure, "--cert: there is no file 'none.pem'"),
      (["--key", key("client.key")], .failure, "--key needs --cert FILE"),
    ]
    for (options, code, message) in mistakes {
      let result = try await run.run(["get", target, "--ca", authority] + options)
      #expect(result.code == code, "\(options)")
      #expect(result.errors.text.contains(message), "\(result.errors.text)")
    }
  }

  @Test func theVersionOfHTTPIsChosen() async throws {
    let target = url(nginx.tls("/protocol"))
    #expect(try await run("get", target, "--ca", authority).text.hasPrefix("HTTP/2.0"))
    #expect(try await run("get", target, "--ca", authority, "--http1").text.hasPrefix("HTTP/1.1"))
    let plain = try await run("get", url(nginx.plain("/protocol")), "--http2")
    #expect(plain.code == .badResponse)
    #expect(plain.errors.text.contains("does not speak HTTP/2"))
  }

  @Test func aProxyGetsRequestsAndTunnelsWithAPassword() async throws {
    let port = try LocalPort.free()
    let configuration = "Port \(port)\nListen 127.0.0.1\nMaxClients 20\nTimeout 60\nBasicAuth ada s3cret\n"
    try run.folder.write(Data(configuration.utf8), to: "tinyproxy.conf")
    let proxy = try RealProcess("tinyproxy", ["-d", "-c", run.folder.file("tinyproxy.conf").path], port: port)
    let (plain, tunnel) = (url(nginx.plain("/hello.txt")), url(nginx.tls("/hello.txt")))
    let address = "127.0.0.1:\(proxy.port)"

    let through = try await run("get", plain, "--proxy", "ada:s3cret@\(address)", "-p", "hb")
    #expect(through.text.contains("Via: ") && through.text.hasSuffix("\nhello"))
    #expect(try await run("get", tunnel, "--ca", authority, "--proxy", "http://ada:s3cret@\(address)").text == "hello")
    let refused = try await run("get", tunnel, "--ca", authority, "--proxy", address)
    #expect(refused.code == .connection)
    #expect(refused.errors.text.contains("the proxy 127.0.0.1 port \(proxy.port) (named by --proxy)"))
    #expect(refused.errors.text.contains("it requires a user name and a password"))
    #expect(refused.errors.text.contains("\n         --proxy http://USER:PASSWORD@HOST:PORT names the proxy"))

    for (options, isProxied) in [([], true), (["--proxy", "none"], false)] {
      let program = try ChildProcess(
        "env", ["http_proxy=http://ada:s3cret@\(address)", try builtProgram("martlet"), "head", plain] + options,
        output: .readWithErrors)
      #expect(String(decoding: program.readToEnd(), as: UTF8.self).contains("Via: ") == isProxied)
    }
  }

  @Test func aPasswordComesFromANetrcFile() async throws {
    let target = url(nginx.plain("/private/hello.txt"))
    let line = Data("machine 127.0.0.1 login anna password secret\n".utf8)
    let missing = try await run("get", target, "--netrc")
    #expect(missing.code == .failure)
    #expect(missing.errors.text.contains("--netrc: there is no file '\(run.folder.file(".netrc").path)'"))

    for name in [".netrc", "other"] {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: try run.folder.write(line, to: name).path)
    }
    #expect(try await run("get", target, "--netrc").text == "hello")
    #expect(try await run("get", target, "--netrc-file", "other").text == "hello")
    #expect(try await run("get", target, "--auth", "anna:secret").text == "hello")
    #expect(try await run("get", target, "--check-status").code == .clientError)
    let named = try TestRun(environment: ["NETRC": run.folder.file("other").path])
    #expect(try await named("get", target, "--netrc").text == "hello")
  }

  @Test func whatIsRecordedInFrontOfAServerIsReplayed() async throws {
    let recording = try await ServerRun(run, "record", "--origin", url(nginx.plain("")), "--har", "api.har")
    let address = recording.address
    #expect(try await run("get", "\(address)/hello.txt").text == "hello")
    #expect(try await run("get", "\(address)/private/hello.txt", "--auth", "anna:secret").text == "hello")
    #expect(try await run("get", "\(address)/zeros.bin").output.data == Data(count: 1_000_000))
    recording.interrupt()
    #expect(await recording.result == .success)
    let archive = try run.text(of: "api.har")
    #expect(!archive.contains("YW5uYTpzZWNyZXQ"))
    #expect(try await run("get", url(nginx.plain("/hello.txt")), "--replay", "api.har").text == "hello")
    #expect(try await run("get", url(nginx.plain("/zeros.bin")), "--replay", "api.har").output.data.count == 1_000_000)
    let unknown = try await run("get", url(nginx.plain("/unknown")), "--replay", "api.har")
    #expect(unknown.code == .notStored)
    #expect(unknown.errors.text.contains("record again, with --har or martlet record"))
  }
}
