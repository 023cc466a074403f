#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The handshake with an HTTP proxy that opens a tunnel to an origin (RFC 9110 §9.3.6). It uses no socket: bytes go in
/// and come out.
///
/// - A 2xx opens the tunnel; its fields do not frame anything.
/// - A 407 is answered on the same connection if the proxy keeps it open and the body is not larger than 64 KiB;
///   otherwise on another one, even if the proxy closes the connection without having announced that. All are the same
///   attempt of the request.
/// - Any other status refuses the tunnel, and so does a 407 that cannot be answered. The error has the head in
///   ``HTTPError/response`` and the first 64 KiB of the body in ``HTTPError/body``.
struct ConnectHandshake {
  /// The maximum number of bytes of a response's heads.
  static let headLimit = 64 << 10
  /// The maximum number of bytes of a body that are kept, or read in order to answer a 407 on the same connection.
  static let bodyLimit = 64 << 10

  private enum Stage {
    /// Nothing was sent on the connection.
    case beginning
    /// The request was sent.
    ///
    /// - Parameter isReused: whether the connection has carried a 407 before, so that the proxy may have closed it
    ///   before it read the request.
    case waiting(isReused: Bool)
    /// The rest of a 407 that will be answered is being read.
    case answering
    /// That 407 is complete, and the proxy has not announced that it closes the connection.
    case beginningAgain
    case refusing(ResponseHead)
    case open
  }

  private let origin: Origin
  private let server: ProxyServer
  private let userAgent: String?
  private var stage = Stage.beginning
  private var parser = Self.makeParser()
  private var progress = ProxyAuthentication.Progress()
  private var body: [UInt8] = []

  /// Prepares a handshake.
  ///
  /// - Parameters:
  ///   - origin: the destination for the proxy to connect to.
  ///   - userAgent: the `User-Agent` of the request that the tunnel is opened for, which some proxies require; nil for
  ///     none.
  init(to origin: Origin, through server: ProxyServer, userAgent: String? = nil) {
    self.origin = origin
    self.server = server
    self.userAgent = userAgent
  }

  /// Returns the request to send on a new connection to the proxy, or again on the same one.
  ///
  /// - Parameters:
  ///   - authentication: the proxy's authentication, which all connections to the proxy share.
  ///   - token: the token that the authentication needs, if any.
  /// - Throws: ``HTTPError/Kind/authenticationFailed`` if the scheme cannot transmit user name or password.
  mutating func request(
    _ authentication: inout ProxyAuthentication, token: String? = nil
  ) throws(HTTPError) -> [UInt8] {
    let isReused = if case .beginningAgain = stage { true } else { false }
    stage = .waiting(isReused: isReused)
    parser = Self.makeParser()
    body = []
    let authority = Self.authority(of: origin)
    var fields: HTTPFields = [:]
    if let userAgent { fields[.userAgent] = userAgent }
    do {
      fields[.proxyAuthorization] = try authentication.authorization(
        for: ("CONNECT", authority), &progress, token: token)
    } catch {
      throw server.error(error.description, .authenticationFailed, for: origin, phase: .preparing)
    }
    var writer = RequestHeadWriter(.connect, host: authority) { $0.append(utf8: authority) }
    writer.write(fields)
    writer.finish()
    return writer.bytes
  }

  /// Processes bytes from the proxy.
  ///
  /// - Parameters:
  ///   - input: bytes of the connection.
  ///   - position: the offset of the first unconsumed byte; it is moved to the end of the consumed bytes.
  ///   - authentication: the proxy's authentication.
  /// - Throws: ``HTTPError/Kind/proxyFailed`` if the tunnel is refused or the response is invalid.
  mutating func receive(
    _ input: RawSpan, from position: inout Int, _ authentication: inout ProxyAuthentication
  ) throws(HTTPError) -> ProxyStep {
    while let event = try next(in: input, from: &position) {
      switch event {
      case .informational: break
      case .head(let lines, let status, let framing):
        if let step = try take(ResponseHead(lines: lines), status, framing, &authentication) { return step }
      case .body(let range):
        if let step = try take(input, range) { return step }
      case .end:
        if case .refusing(let head) = stage { throw refusal(head) }
        guard parser.keepsConnection else { return .reconnect }
        stage = .beginningAgain
        return .beginAgain
      }
    }
    return .needsMore
  }

  /// Processes the end of the connection.
  ///
  /// - Returns: that another connection is needed.
  /// - Throws: ``HTTPError/Kind/proxyFailed``: the refusal, with the received part of its body, or a missing response.
  mutating func receiveEnd() throws(HTTPError) -> ProxyStep {
    switch stage {
    case .waiting(isReused: true) where !parser.hasBegun, .beginning, .answering, .beginningAgain:
      stage = .beginning
      return .reconnect
    case .refusing(let head): throw refusal(head)
    case .waiting, .open: throw server.error(parser.cutOff.message, for: origin)
    }
  }

  /// The error of a refusal whose head has arrived, with the received part of its body; nil before. For an owner that
  /// does not wait for the rest.
  var refusal: HTTPError? {
    if case .refusing(let head) = stage { refusal(head) } else { nil }
  }

  private func refusal(_ head: ResponseHead) -> HTTPError {
    var error = server.error("it refused the tunnel with status \(head.status.code)\(reason(head))", for: origin)
    error.response = head
    error.body = body.isEmpty ? nil : Data(body)
    return error
  }

  /// Processes the final head. Returns nil if its body is still to be read.
  private mutating func take(
    _ head: ResponseHead, _ status: Int, _ framing: BodyFraming, _ authentication: inout ProxyAuthentication
  ) throws(HTTPError) -> ProxyStep? {
    if (200..<300).contains(status) {
      authentication.accepted(head.fields, progress)
      stage = .open
      return .open
    }
    guard status == 407, authentication.answers(head.fields, &progress) else {
      stage = .refusing(head)
      return nil
    }
    stage = .answering
    switch framing {
    case .untilClose: return .reconnect
    case .length(let count) where count > Self.bodyLimit: return .reconnect
    default: return nil
    }
  }

  /// Processes a piece of the body.
  private mutating func take(_ input: RawSpan, _ range: Range<Int>) throws(HTTPError) -> ProxyStep? {
    guard case .refusing(let head) = stage else {
      return parser.bodyCount > Int64(Self.bodyLimit) ? .reconnect : nil
    }
    let kept = range.prefix(Self.bodyLimit - body.count)
    input.withUnsafeBytes { body.append(contentsOf: $0[kept.startIndex..<kept.endIndex]) }
    if body.count == Self.bodyLimit { throw refusal(head) }
    return nil
  }

  private mutating func next(
    in input: RawSpan, from position: inout Int
  ) throws(HTTPError) -> HTTP1ResponseParser.Event? {
    if case .open = stage { return nil }
    do throws(HTTP1Failure) { return try parser.next(in: input, from: &position) } catch {
      throw refusal ?? invalid(error.message)
    }
  }

  private func invalid(_ message: String) -> HTTPError {
    server.error("its response to CONNECT is invalid: \(message)", for: origin)
  }

  /// Why the proxy has refused, if that is known.
  private func reason(_ head: ResponseHead) -> String {
    guard head.status.code == 407 else { return "" }
    let schemes = AuthenticationChallenge.challenges(in: head.fields, .proxyAuthenticate).prefix(4)
      .map { String($0.scheme.prefix(20)) }
    let offer = schemes.isEmpty ? "" : " (\(schemes.joined(separator: ", ")))"
    switch server.credentials {
    case .password: return ": it does not accept the user name and the password"
    case .tokens where progress.hasSentToken: return ": it does not accept the token"
    case .tokens(let tokens): return ": it does not ask for \(tokens.scheme)\(offer)"
    case nil: return ": it requires a user name and a password\(offer)"
    }
  }

  private static func makeParser() -> HTTP1ResponseParser {
    HTTP1ResponseParser(answering: .connect, allowsUpgrade: false, headLimit: headLimit)
  }

  /// Host and port, including the default port (RFC 9112 §3.2.3).
  private static func authority(of origin: Origin) -> String {
    let hasPort = origin.port != (origin.isSecure ? 443 : 80)
    return hasPort ? origin.authority : "\(origin.authority):\(origin.port)"
  }
}
#endif
