#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The transport without content codings: bodies are delivered as they come over the network.
struct RawSocketTransport: Transport, DeadlineAware {
  let configuration: ConnectionConfiguration
  let thread: LoopStart
  private(set) var identity: TLSIdentity
  private var serviceClass: ServiceClass?
  private let proxies: ProxySettings
  private let proxyIdentity: TLSIdentity
  private let authentications = ProxyAuthentications()
  private var lastDestination = LastDestination()
  private let addressRules: Result<AddressRules, HTTPError>

  init(_ configuration: ConnectionConfiguration, _ options: SocketTransport.Options) {
    self.configuration = configuration
    serviceClass = configuration.serviceClass
    let security = ConnectionSecurity(configuration)
    (identity, proxyIdentity) = (security.own, security.ofProxies)
    proxies = ProxySettings(
      options.unixSocket == nil ? configuration.proxy : .direct, environment: ProcessInfo.processInfo.environment)
    let addressRules = Result { () throws(HTTPError) in try AddressRules(checking: configuration.addressPolicy) }
    self.addressRules = addressRules
    thread = LoopStart { [authentications] () throws(HTTPError) in
      try security.own.readAuthorities()
      return try LoopThread(configuration, ConnectionOptions(options, addressRules.get()), security, authentications)
    }
  }

  func with(tls: TLSSettings) -> RawSocketTransport {
    var other = self
    other.identity = TLSIdentity(tls, beside: identity)
    other.lastDestination = LastDestination()
    return other
  }

  func with(serviceClass: ServiceClass?) -> RawSocketTransport {
    var other = self
    other.serviceClass = serviceClass
    other.lastDestination = LastDestination()
    return other
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let thread = try thread.get()
    let destination =
      if let known = knownDestination(of: request) { known } else {
        try await newDestination(of: request, in: call)
      }
    let hop = NextHop(to: destination, for: request, authentications)
    while true {
      try await hop.proxy?.askForToken(in: call)
      let body = request.body.needsOpening ? try await call.holding { try await request.body.openUnlessEmpty() } : nil
      let (source, stream) = try begin(request, to: hop, sending: body, on: thread, in: call)
      let head = try await source.head()
      if try hop.proxy?.answers(head) == true, request.body.canBeSent {
        source.cancelUnmeasured()
        call.emit(.note("sent again: the proxy requires authentication (407)"))
      } else {
        return response(to: request, head, from: source, stream)
      }
    }
  }

  private func knownDestination(of request: HTTPRequest) -> Exchange.Destination? {
    request.asksForUpgrade ? nil : lastDestination.destination(of: request.url)
  }

  private func newDestination(of request: HTTPRequest, in call: Call) async throws(HTTPError) -> Exchange.Destination {
    guard let origin = request.origin else { throw request.hasNoOrigin }
    let destination = try await destination(at: origin, for: request, in: call)
    if !request.asksForUpgrade { lastDestination.keep(destination) }
    return destination
  }

  private func response(
    to request: HTTPRequest, _ head: ResponseHead, from source: TransferBody, _ stream: UpgradedStream?
  ) -> HTTPResponse {
    var response = HTTPResponse(to: request, networkHead: head, from: source)
    if request.isUpgraded(by: head) { response.stream = stream }
    return response
  }

  /// Submits the request, whose body is open.
  private func begin(
    _ request: HTTPRequest, to hop: NextHop, sending body: OpenBody?, on thread: LoopThread, in call: Call
  ) throws -> (TransferBody, UpgradedStream?) {
    let destination = hop.destination
    do {
      try Task.checkCancellation()
      let recipient = try hop.proxy?.authorize(request)
      let isWritten = !destination.key.mayMultiplex || thread.http1Servers.contains(destination.origin)
      let head = try HTTP1RequestHead(
        request, to: destination.origin, through: recipient ?? .origin, body: body, isWritten: isWritten)
      let exchange = Exchange(
        request, to: destination, heads: (head, try http2Head(of: request, to: destination, head)), body: body,
        limits: limits(of: request, head, in: call))
      // Before the request is sent, so that the connection is closed if the request ends otherwise.
      let stream = exchange.upgrade.map { UpgradedStream($0, on: thread) }
      thread.start(exchange)  // before the request's body can fail
      let source = TransferBody(
        of: RunningExchange(exchange: exchange, jobs: thread.jobs), on: thread, sending: exchange.upload, from: body,
        in: call)
      return (source, stream)
    } catch {
      body?.source.cancel()
      throw error
    }
  }

  func preconnect(to url: URL, requests: Int) async throws {
    let thread = try thread.get()
    guard let origin = Origin(url) else { throw HTTPRequest(.get, url).hasNoOrigin }
    guard !origin.isSecure || identity.settings.serverTrustCheck == nil else {
      throw HTTPError(
        .invalidRequest, "connections cannot be opened ahead with tls.serverTrustCheck, which is called for requests",
        phase: .preparing)
    }
    let destination = try await destination(at: origin)
    let result = OneShot<Void>()
    thread.jobs.submit { $0.preconnect(destination, for: requests, result) }
    try await result.wait()
  }

  func statistics() async -> [Origin: PoolStatistics] {
    guard let thread = try? thread.get() else { return [:] }
    return await withCheckedContinuation { continuation in
      thread.jobs.submit { continuation.resume(returning: $0.statistics) }
    }
  }

  private func destination(
    at origin: Origin, for request: HTTPRequest? = nil, in call: Call? = nil
  ) async throws(HTTPError) -> Exchange.Destination {
    let route = try proxies.route(to: origin)
    try addressRules.get().check(origin, by: route)
    if origin.isSecure, !identity.asksForOrigins { _ = try await identity.context(in: call) }
    if case .http(_, isTLS: true) = route { _ = try await proxyIdentity.context(in: call) }
    // HTTP/2 has no Upgrade (RFC 9113 §8.6). A WebSocket may use a connection over HTTP/2 that is there: see
    // `Network.upgradeKey(of:)`.
    let asksForUpgrade = request?.asksForUpgrade ?? false
    let versions = asksForUpgrade && configuration.versions == .automatic ? .http1 : configuration.versions
    // A forwarding proxy does not forward an Upgrade (RFC 9110 §7.8); a CONNECT is for the proxy itself.
    let needsTunnel = asksForUpgrade && request?.method != .connect
    var key = ConnectionKey(to: origin, by: route, versions, identity: identity.number, needsTunnel: needsTunnel)
    key.serviceClass = serviceClass
    guard !asksForUpgrade || key.versions != .http2 || request?.opensWebSocket ?? false else {
      let message = "\(origin.authority): HTTP/2 has no Upgrade and no CONNECT to an origin: use another"
      throw HTTPError(.invalidRequest, message + " setting of versions than http2PriorKnowledge", phase: .preparing)
    }
    return Exchange.Destination(to: origin, key: key, identity: identity)
  }

  private func http2Head(
    of request: HTTPRequest, to destination: Exchange.Destination, _ head: HTTP1RequestHead
  ) throws(HTTPError) -> HTTP2RequestHead? {
    let mayShare = request.opensWebSocket && configuration.versions == .automatic && destination.origin.isSecure
    guard destination.key.mayMultiplex || mayShare else { return nil }
    let body: HTTP2RequestHead.Body =
      switch head.framing {
      case .none: .none
      case .length(let count): .length(count)
      case .chunked: .unknownLength
      }
    return try HTTP2RequestHead(request, origin: destination.origin, body: body)
  }

  private func limits(of request: HTTPRequest, _ head: HTTP1RequestHead, in call: Call) -> Exchange.Limits {
    Exchange.Limits(
      response: request.options.responseTimeout?.nanoseconds, idle: request.options.idleTimeout?.nanoseconds,
      ping: request.options.pingInterval?.nanoseconds,
      expectation: head.expectsContinue ? (request.options.continueTimeout ?? .seconds(1)).nanoseconds : nil,
      headerBytes: request.options.headerLimit, readAhead: configuration.readAhead,
      wholeBody: call.use.isCollected ? Int64(min(1 << 20, configuration.readAhead)) : 0, events: call.events,
      mayRepeat: request.replacesStaleConnection)
  }
}

/// The recipient of one request: its origin, perhaps through a tunnel, or a proxy that forwards it.
private struct NextHop {
  let destination: Exchange.Destination
  /// The proxy that forwards the request; nil if there is none.
  let proxy: ForwardingProxy?

  init(to destination: Exchange.Destination, for request: HTTPRequest, _ authentications: ProxyAuthentications) {
    self.destination = destination
    let server = destination.key.origin == nil ? destination.key.route.server : nil
    proxy = server.map { ForwardingProxy($0, to: destination.origin, for: request, authentications) }
  }
}
#endif
