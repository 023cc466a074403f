@_spi(Toolkit) @_spi(Transports) public import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import Synchronization

extension HTTPSession {
  /// Opens a WebSocket (RFC 6455). Runs off the caller's actor.
  ///
  /// ```swift
  /// let socket = try await session.webSocket(for: HTTPRequest(.get, "wss://chat.example.com/room"))
  /// ```
  ///
  /// The opening handshake is a request like any other: interceptors, credentials, cookies, redirects, retries, limits
  /// and listeners take part in it, and ``Martlet/RequestOptions/deadline`` limits it. The options do not apply
  /// to the open connection, except ``Martlet/RequestOptions/decompressionRatioLimit``: see ``WebSocket/Options``.
  ///
  /// - Parameters:
  ///   - request: a GET without a body. The URL has the scheme ws or wss, or http or https, which mean the same. The
  ///     fields of the handshake are added.
  ///   - protocols: the subprotocols that the program speaks, in order of preference; none by default.
  ///   - options: the options of the WebSocket.
  /// - Throws: ``Martlet/HTTPError``. If the server refuses, the kind is `.unexpectedResponse`; the error has the
  ///   head of the response, and the beginning of its body in ``Martlet/HTTPError/body``. If the response does
  ///   not answer the handshake, the kind is `.protocolViolation`.
  @concurrent public func webSocket(
    for request: HTTPRequest, protocols: [String] = [], options: WebSocket.Options = .init()
  ) async throws(HTTPError) -> WebSocket {
    let handshake = OpeningHandshake(
      WebSocketHandshake(protocols: protocols, compression: options.compression?.offer))
    let request = try handshake.request(from: request, relativeTo: configuration.baseURL)
    let (body, response) = try await upgrade(for: request)
    guard response.opensWebSocket else {
      throw await unexpected(response, "unexpected status \(response.head.statusText): no WebSocket was opened")
    }
    _ = try? await body.collect(upTo: 0)  // It is empty, and ends the transport's part.
    guard let (agreement, call) = handshake.agreement,
      let channel = channel(
        of: response, agreement, ratioLimit: resolving(request).options.decompressionRatioLimit, options, in: call)
    else { throw HTTPError(.invalidRequest, "the session's transport cannot open a WebSocket: use sockets") }
    channel.start()
    // A closed WebSocket keeps no connection, and no call, whose listeners may hold the WebSocket.
    var opening = response
    (opening.stream, opening.messages, opening.body) = (nil, nil, ResponseBody(Data()))
    return WebSocket(
      channel, response: opening, negotiatedProtocol: agreement.subprotocol,
      messageLimit: options.messageLimit)
  }

  /// Returns the channel for the messages of an open WebSocket: one that frames them over the transport's bytes, or the
  /// transport's own. nil if the transport has neither.
  private func channel(
    of response: HTTPResponse, _ agreement: WebSocketHandshake.Agreement, ratioLimit: Int?,
    _ options: WebSocket.Options, in call: Call
  ) -> (any MessageChannel)? {
    guard let stream = response.stream else { return response.messages }
    let connection = FramedConnection(
      stream,
      FramedConnection.Terms(
        compression: agreement.compression, ratioLimit: ratioLimit, options: options, clock: configuration.clock,
        reporter: MessageReporter(call), request: response.request, response: response.head))
    return connection
  }
}

/// Adds a new key to every attempt of a handshake, and checks that the response answers this key before any other code
/// sees the response.
final class OpeningHandshake: Interceptor {
  private struct State: Sendable {
    /// The answer to the key of the current attempt.
    var accept: String?
    var agreement: (WebSocketHandshake.Agreement, Call)?
  }

  private let rule: WebSocketHandshake
  private let state = Mutex(State())

  init(_ rule: WebSocketHandshake) { self.rule = rule }

  /// The agreement with the server, and its call; nil until a response has opened the WebSocket.
  var agreement: (WebSocketHandshake.Agreement, Call)? { state.withLock { $0.agreement } }

  /// Returns the caller's request as a handshake, still without the key.
  func request(from request: HTTPRequest, relativeTo base: URL?) throws(HTTPError) -> HTTPRequest {
    if let reason = rule.reasonToRefuse { throw HTTPError(.invalidRequest, reason, phase: .preparing) }
    guard request.method == .get, request.body.isEmpty else {
      throw HTTPError(
        .invalidRequest, "a WebSocket is opened by a GET without a body, not by this \(request.method)",
        phase: .preparing)
    }
    var request = request
    if request.url.scheme == nil, let base { request.url = request.url.resolved(inFolder: base) }
    if let url = request.url.ofWebSocketHandshake { request.url = url }
    for (name, value) in rule.fields { request.fields[name] = value }
    request.fields[.connection] = nil  // The transport adds it. `close` would contradict the upgrade.
    request.options.expecting = .any  // A refusal has a message of its own.
    request.options.interceptors.append(self)
    return request
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let key = WebSocketHandshake.makeKey()
    guard let accept = WebSocketHandshake.accept(key, sha1: MessageDigest.sha1) else {
      throw HTTPError(.other, "the system's cryptography does not offer SHA-1, which WebSocket needs")
    }
    state.withLock { $0.accept = accept }
    var request = request
    request.fields[.secWebSocketKey] = key
    return .send(request)
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, response.opensWebSocket, let accept = state.withLock({ $0.accept })
    else { return .accept }
    do throws(HandshakeFault) {
      let isUpgrade = response.status == .switchingProtocols && response.messages == nil
      let agreement = try rule.agreement(
        in: response.fields, response.head.version, expecting: isUpgrade ? accept : nil)
      state.withLock { $0.agreement = (agreement, call) }
    } catch {
      throw HTTPError(
        .protocolViolation, "the server's answer opens no WebSocket: \(error.reason)", phase: .waiting)
    }
    return .accept
  }
}

extension HTTPResponse {
  /// Whether the server has accepted the handshake: with a 101, or over HTTP/2 with a 2xx (RFC 8441 §5).
  fileprivate var opensWebSocket: Bool { status == .switchingProtocols || status.isSuccessful && isUpgraded }
}
