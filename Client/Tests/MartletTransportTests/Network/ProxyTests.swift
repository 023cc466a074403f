import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

/// Proxies: tinyproxy for HTTP, microsocks for SOCKS5.
@Suite(.timeLimit(.minutes(5)))
struct ProxyTests {
  let nginx: Nginx

  init() throws { nginx = try Nginx.shared.get() }

  private func tinyproxy(_ more: String) throws -> (RealProcess, TemporaryFolder) {
    let folder = try TemporaryFolder(), port = try LocalPort.free()
    let configuration = "Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\n\(more)\n"
    try folder.write(Data(configuration.utf8), to: "tinyproxy.conf")
    return (try RealProcess("tinyproxy", ["-d", "-c", folder.file("tinyproxy.conf").path], port: port), folder)
  }

  private func session(_ proxy: Proxy) -> HTTPSession {
    var configuration = ConnectionConfiguration()
    configuration.tls.authorities = nginx.authority.certificate
    configuration.proxy = proxy
    return HTTPSession.uncached(configuration)
  }

  private func text(_ url: URL, through proxy: Proxy) async throws(HTTPError) -> String {
    String(decoding: try await session(proxy).data(for: HTTPRequest(.get, url)).0, as: UTF8.self)
  }

  @Test func httpProxyForwardsPlainAndTunnelledRequests() async throws {
    let (proxy, folder) = try tinyproxy("")
    defer { withExtendedLifetime((proxy, folder)) {} }
    let server = try LoopbackServer { request in .text(request.fields["Via"] ?? "direct") }

    #expect(try await text(server.url("/"), through: .http("127.0.0.1", port: proxy.port)).contains("tinyproxy"))
    #expect(try await text(nginx.tls("/hello.txt"), through: .http("127.0.0.1", port: proxy.port)) == "hello")
    let bypassing = Proxy.http("127.0.0.1", port: proxy.port).bypassing(["127.0.0.1"])
    #expect(try await text(server.url("/"), through: bypassing) == "direct")
  }

  @Test func httpProxyRequiresCredentials() async throws {
    let (process, folder) = try tinyproxy("BasicAuth anna secret")
    defer { withExtendedLifetime((process, folder)) {} }
    let proxy = Proxy.http("127.0.0.1", port: process.port)
    let known = proxy.authenticated(user: "anna", password: "secret")
    let unknown = proxy.authenticated(user: "anna", password: "mistaken")

    #expect(try await text(nginx.tls("/hello.txt"), through: known) == "hello")
    #expect(try await text(nginx.plain("/hello.txt"), through: known) == "hello")
    // tinyproxy answers 407 if credentials are missing, and 401 if they are wrong
    for (proxy, status) in [(proxy, "407"), (unknown, "401")] {
      let error = await #expect(throws: HTTPError.self) { try await text(nginx.tls("/hello.txt"), through: proxy) }
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains(status) == true)
      #expect(error?.description.contains("mistaken") == false)
    }
    let (_, response) = try await session(unknown).data(for: HTTPRequest(.get, nginx.plain("/hello.txt")))
    #expect(response.status == 401)
  }

  @Test func socksProxyForwardsRequestsWithCredentials() async throws {
    let port = try LocalPort.free()
    let process = try RealProcess(
      "microsocks", ["-i", "127.0.0.1", "-p", "\(port)", "-u", "anna", "-P", "secret"], port: port)
    defer { withExtendedLifetime(process) {} }
    let proxy = Proxy.socks5("127.0.0.1", port: port)

    #expect(
      try await text(nginx.tls("/hello.txt"), through: proxy.authenticated(user: "anna", password: "secret"))
        == "hello")
    for wrong in [proxy, proxy.authenticated(user: "anna", password: "mistaken")] {
      let error = await #expect(throws: HTTPError.self) { try await text(nginx.plain("/hello.txt"), through: wrong) }
      #expect(error?.kind == .proxyFailed)
    }
  }

  @Test func anUnreachableProxyIsNamedInTheError() async throws {
    let port = try LocalPort.free()
    let error = await #expect(throws: HTTPError.self) {
      try await text(nginx.plain("/hello.txt"), through: .http("127.0.0.1", port: port))
    }
    #expect(error?.kind == .proxyFailed || error?.kind == .cannotConnect)
    #expect(error?.message.contains("port \(port)") == true)
  }
}
