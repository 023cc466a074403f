#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Observes the fate of a text: the host of the parser, the origin, the `Host` field and the connection must be the
/// same.
struct URLObserver: Sendable {
  private let proxy: LoopbackServer
  private let throughProxy: HTTPSession
  private let refusing: HTTPSession

  init() throws {
    proxy = try LoopbackServer { .text("\($0.fields[.host] ?? "") \($0.target)") }
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: proxy.port)
    throughProxy = Self.session(SocketTransport(connection))
    // No connection is made: the error names the address to which it would have been.
    connection.proxy = .direct
    connection.addressPolicy.refused = ["0.0.0.0/0", "::/0"]
    var options = SocketTransport.Options()
    options.resolver = { [Self.address(of: $0)] }
    refusing = Self.session(SocketTransport(connection, options: options))
  }

  private static func session(_ transport: any Transport) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private static func address(of name: String) -> String { "192.0.2.\(name.utf8.count % 256)" }

  /// Returns the URL that a proxy receives for a text; nil if the text is refused and nothing is sent.
  func outcome(of text: String, with change: (inout RequestOptions) -> Void = { _ in }) async throws -> String? {
    var request = HTTPRequest(.get, text)
    change(&request.options)
    let before = proxy.requests.count
    let answer: (data: Data, response: HTTPResponse)
    do throws(HTTPError) { answer = try await throughProxy.data(for: request) } catch {
      #expect(error.kind == .invalidRequest, "\(text.debugDescription): \(error)")
      #expect(request.origin == nil && proxy.requests.count == before, "\(text.debugDescription)")
      if request.url.scheme == "http" { #expect(CookieRequest(request.url) == nil, "\(text.debugDescription)") }
      return nil
    }
    let parts = String(decoding: answer.data, as: UTF8.self).split(separator: " ").map(String.init)
    try #require(parts.count == 2 && proxy.requests.count == before + 1)
    try check(request, host: parts[0], url: parts[1], answer.response)
    try await checkConnection(of: request)
    return parts[1]
  }

  private func check(_ request: HTTPRequest, host: String, url: String, _ response: HTTPResponse) throws {
    let origin = try #require(request.origin)
    #expect(host == origin.authority && url.hasPrefix("http://\(host)/"), "\(request.url)")
    #expect(Origin(response.url) == origin, "\(request.url)")
    #expect(HostName.canonical(origin.host) == origin.host, "\(request.url)")
    #expect(CookieRequest(request.url)?.host == origin.host, "\(request.url)")
    #expect(CacheKey(response.url).url == "\(origin)\(url.dropFirst("http://\(host)".count))", "\(request.url)")
  }

  /// Checks that a connection is for the same host: the policy names it, and the address of this name.
  private func checkConnection(of request: HTTPRequest) async throws {
    let host = try #require(request.origin?.host)
    guard !host.contains("%") else { return }  // the machine may not have the interface
    let error = await #expect(throws: HTTPError.self) { try await refusing.data(for: request) }
    let labels = host.hasSuffix(".") ? host.dropLast() : host[...]
    let isLocal = labels == "localhost" || labels.hasSuffix(".localhost")
    let address = isLocal ? "::1" : IPAddress(literal: host).map { "\($0)" } ?? Self.address(of: host)
    let isLookedUp = (1...253).contains(labels.utf8.count) && !labels.hasSuffix(".onion")
    #expect(error?.kind == (isLookedUp ? .addressRefused : .cannotResolveHost), "\(request.url)")
    #expect(error?.message.hasPrefix("\(host): ") == true, "\(request.url)")
    if isLookedUp { #expect(error?.message.contains(address) == true, "\(request.url): \(error?.message ?? "")") }
  }
}
#endif
