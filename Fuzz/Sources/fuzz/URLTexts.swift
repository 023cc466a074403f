#if os(Linux)
import CFuzz
@testable import MartletEngine
@_spi(Toolkit) @testable import MartletSemantics
@testable import MartletSockets

/// URLs as text. Origin, cookies, `Host` field and the address of the connection are those of one host, which libcurl
/// finds, too. Otherwise nothing is sent.
enum URLTexts {
  static func run(_ input: inout Input) throws {
    let text = String(decoding: input.bytes, as: UTF8.self)
    let request = HTTPRequest(.get, text)
    guard let origin = request.origin else {
      if request.url.scheme == "http" { check(CookieRequest(request.url) == nil, "cookies of \(request.url)") }
      return
    }
    check(HostName.canonical(origin.host) == origin.host, "\(origin)")
    check(CookieRequest(request.url)?.host == origin.host, "\(request.url): cookies of another host")
    check(Origin(request.url.normalized() ?? request.url) == origin, "\(request.url): another origin when normalized")
    try checkHost(of: request, origin)
    checkOtherParser(text, origin)
    try checkConnection(of: request, origin)
  }

  /// The line `Host`, and the target, which is a path.
  private static func checkHost(of request: HTTPRequest, _ origin: Origin) throws {
    let head: HTTP1RequestHead
    do throws(HTTPError) { head = try HTTP1RequestHead(request, to: origin, body: nil) } catch {
      return check(error.kind == .invalidRequest, "\(error)")
    }
    let lines = String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\n")
    check(lines.count == 3 && lines[1] == "Host: \(origin.authority)", "\(lines)")
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    check(words.count == 3 && words[1].hasPrefix("/"), "\(lines)")
    check(words[1].utf8.allSatisfy { (33...126).contains($0) }, "\(lines)")
  }

  /// libcurl refuses other texts, but must not find another host, port or scheme.
  private static func checkOtherParser(_ text: String, _ origin: Origin) {
    guard !text.utf8.contains(0), let url = curl_url() else { return }
    defer { curl_url_cleanup(url) }
    guard curl_url_set(url, CURLUPART_URL, text, martlet_curl_encodes) == CURLUE_OK else { return }
    func part(_ part: CURLUPart) -> String? {
      var bytes: UnsafeMutablePointer<CChar>?
      guard curl_url_get(url, part, &bytes, martlet_curl_default_port) == CURLUE_OK, let bytes else { return nil }
      defer { curl_free(bytes) }
      return String(cString: bytes)
    }
    let zone = part(CURLUPART_ZONEID).map { "%\($0)" } ?? ""
    let host = part(CURLUPART_HOST).map { $0.hasSuffix("]") ? "\($0.dropLast())\(zone)]" : $0 } ?? ""
    let other = (part(CURLUPART_SCHEME), HostName.canonical(host), part(CURLUPART_PORT))
    check(
      other == (origin.scheme, origin.host, "\(origin.port)"),
      "\(text.debugDescription): for libcurl \(other) (\(host)), for us \(origin)")
  }

  /// Every address is refused, and the error names the address to which it would have connected.
  private static func checkConnection(of request: HTTPRequest, _ origin: Origin) throws {
    let host = origin.host
    guard !host.contains("%") else { return }  // the machine may not have the interface
    let error = try wait {
      do throws(HTTPError) { _ = try await refusing.data(for: request) } catch { return error as HTTPError? }
      return nil
    }
    let labels = host.hasSuffix(".") ? host.dropLast() : host[...]
    let isLocal = labels == "localhost" || labels.hasSuffix(".localhost")
    let expected = isLocal ? "::1" : IPAddress(literal: host).map { "\($0)" } ?? address(of: host)
    let isLookedUp = (1...253).contains(labels.utf8.count) && !labels.hasSuffix(".onion")
    let isRefused = error?.kind == (isLookedUp ? .addressRefused : .cannotResolveHost)
    let message = error?.message ?? ""
    let isNamed = message.hasPrefix("\(host): ") && (!isLookedUp || message.contains(expected))
    check(error?.kind == .invalidRequest || isRefused && isNamed, "\(origin): \(error.map { "\($0)" } ?? "no error")")
  }

  private static let refusing: HTTPSession = {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.addressPolicy.refused = ["0.0.0.0/0", "::/0"]
    var options = SocketTransport.Options()
    options.resolver = { [address(of: $0)] }
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: SocketTransport(connection, options: options), configuration: configuration)
  }()

  /// An address that depends on the name.
  private static func address(of name: String) -> String { "192.0.2.\(name.utf8.count % 256)" }
}
#endif
