#if os(Linux)
import CCurl
@_spi(Transports) public import MartletEngine
import MartletSemantics

/// A transport over the system's libcurl: HTTP/1.1 and HTTP/2 with multiplexing, TLS, proxies, and streaming in both
/// directions with backpressure. Content codings are decoded by a ``Martlet/DecodingTransport`` around it.
///
/// Use it where Negotiate is needed (``Martlet/ConnectionConfiguration/negotiatingHosts``,
/// ``Martlet/Proxy/negotiated()``); the default transport on Linux is ``Martlet/SocketTransport``.
///
/// One thread runs all transfers of a transport; its requests share connections, which are kept open for reuse. When
/// the last reference to the transport and to its unread bodies is released, its connections are closed and its thread
/// ends.
///
/// Responses have to conform to RFC 9112 §2 to §6; others are errors of kind ``Martlet/HTTPError/Kind/protocolViolation``:
/// heads, trailers, `Content-Length` and `Transfer-Encoding` are checked before any part of them is delivered. What
/// libcurl does not report cannot be checked: it accepts chunk sizes followed by white space or by extensions of any
/// form, and lines of trailers of at most 4 KiB.
///
/// An HTTP/1 connection that receives anything while it is idle is closed and not used again. Over TLS that may have
/// been a session ticket; then the only cost is a new connection. Bytes that arrive just after a request was sent
/// cannot be distinguished from its response. Over HTTP/2, if the connection fails after a GOAWAY or while another
/// response is paused, a response without a length ends as if it were complete, because libcurl 7.88 reports it so.
///
/// If a pooled connection turns out to be closed, the request is sent again at once if it may be repeated and
/// ``Martlet/RetryPolicy/replacesStaleConnections`` is set, and listeners get an ``Martlet/Event/note(_:)``. A request that may not be
/// repeated fails, and the error's ``Martlet/HTTPError/delivery`` says why.
///
/// ```swift
/// import MartletCurl
///
/// var connection = ConnectionConfiguration()
/// connection.tls.clientCertificate = .pkcs12(file: certificate, password: password)
/// let session = HTTPSession(transport: CurlTransport(connection))
/// ```
public struct CurlTransport: Transport {
  private let transport: any Transport

  /// Makes a transport. If the system has no thread or file descriptor for it, every request fails with an error that
  /// says so, and so it does with ``Martlet/ConnectionConfiguration/poolTimeout``,
  /// ``Martlet/ConnectionConfiguration/addressPolicy`` and ``Martlet/TLSSettings/originSettings``, which are not supported.
  public init(_ connection: ConnectionConfiguration = .init()) { self.init(CurlConfiguration(connection)) }

  /// Makes a transport with settings that only this transport has.
  public init(_ configuration: CurlConfiguration) {
    let raw = RawCurlTransport(configuration)
    transport = configuration.connection.decompresses ? DecodingTransport(raw) : raw
  }

  /// Sends the request. Returns the final response's head, with its body still to be read.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    try await transport.send(request, in: call)
  }
}

/// The transport without content codings: bodies are delivered as they come over the network.
struct RawCurlTransport: Transport {
  private let configuration: ConnectionConfiguration
  private let thread: Result<LoopThread, HTTPError>
  private let authorities: Result<TrustedAuthorities, HTTPError>
  private let checked = CheckedServers()

  init(_ configuration: CurlConfiguration) {
    let connection = configuration.connection
    self.configuration = connection
    authorities = Result { () throws(HTTPError) in try connection.tls.trustedAuthorities() }
    thread = Result { () throws(HTTPError) in
      let unsupported = connection.changedSettings.filter { Self.unsupported.contains($0) }
      guard unsupported.isEmpty else {
        let names = unsupported.joined(separator: ", ")
        throw HTTPError(
          .invalidRequest, "libcurl does not support these settings of a connection: \(names)", phase: .preparing)
      }
      return try LoopThread(configuration)
    }
  }

  /// How many certificate chains of a server are checked for one request: machines that share a name may have different
  /// ones, but not a new one for each connection.
  private static let checkLimit = 5

  private static let unsupported: Set = ["poolTimeout", "tls.originSettings", "addressPolicy"]

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    for _ in 0..<Self.checkLimit {
      do { return try await sendOnce(request, in: call) } catch let error as HTTPError {
        guard let received = error.underlying as? ReceivedCertificates, let origin = Origin(request.url) else {
          throw error
        }
        try await check(received, of: error, from: origin, in: call)
      }
    }
    throw HTTPError(
      .untrustedCertificate,
      "\(request.url.redacted): the server showed \(Self.checkLimit) different certificate chains one after another",
      phase: .securing)
  }

  /// Sends the request, unless the server's certificates have to be checked before: then it throws these.
  private func sendOnce(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let thread = try thread.get()
    guard let origin = Origin(request.url) else { throw request.hasNoOrigin }
    guard request.method != .head || request.body.isEmpty else {
      throw HTTPError(.invalidRequest, "a HEAD request cannot have a body (RFC 9110 §9.3.2)", phase: .preparing)
    }
    if request.body.hasTrailers { throw HTTPError.trailersUnsupported(by: "the transport over libcurl") }
    let authorities = try authorities.get()
    let body = try await request.body.openUnlessEmpty()
    let setup: RequestSetup
    let transfer: Transfer
    do {
      try Task.checkCancellation()
      setup = RequestSetup(
        request: request, origin: origin, configuration: configuration, handle: try thread.pool.take(), body: body,
        authorities: authorities)
      transfer = try makeTransfer(setup, events: call.events, chunks: thread.chunks)
    } catch {
      body?.source.cancel()
      throw error
    }
    thread.jobs.submit { $0.start(transfer) }  // before the request's body can fail
    let source = TransferBody(
      transfer.signals, of: RunningTransfer(transfer: transfer, jobs: thread.jobs), on: thread,
      sending: transfer.upload, from: body, in: call)
    let head = try await source.head()
    return HTTPResponse(to: request, networkHead: head, from: source)
  }

  /// Calls the caller's check for the certificates of a server. Returns if neither the check nor the system refuses
  /// them.
  private func check(
    _ received: ReceivedCertificates, of error: HTTPError, from origin: Origin, in call: Call
  ) async throws {
    guard configuration.tls.serverTrustCheck != nil else { throw error }
    var refusal = received.isRefused ? error : nil
    refusal?.underlying = nil  // the certificates, which the check gets
    let check = ServerCheck(certificates: received.certificates, refusal: refusal)
    try await check.decide(configuration.tls, for: origin, in: call)
    checked.insert(received.certificates, of: origin)
  }

  private func makeTransfer(_ setup: RequestSetup, events: EventKinds, chunks: ChunkPool) throws(HTTPError) -> Transfer
  {
    let request = setup.request
    let limits = Transfer.Limits(
      response: request.options.responseTimeout?.nanoseconds, idle: request.options.idleTimeout?.nanoseconds,
      headerBytes: request.options.headerLimit,
      wholeBody: request.options.isCollected ? Int64(min(1 << 20, configuration.readAhead)) : 0,
      provisional: Self.provisional(setup, configuration), events: events,
      mayRepeat: request.replacesStaleConnection, method: request.method,
      allowsUpgrade: request.fields.contains(.upgrade),
      origin: setup.origin, assumesHTTP2: configuration.versions == .http2PriorKnowledge,
      ownsConnection: setup.ownsConnection, checked: setup.checksServer ? checked : nil)
    let transfer = Transfer(
      handle: setup.handle,
      signals: SignalQueue(highWater: max(16 << 10, configuration.readAhead), clock: MultiLoop.clock),
      upload: Upload(setup.body, of: request, waitsFor100: setup.expectsContinue),
      limits: limits, headerLines: try setup.apply(), chunks: chunks)
    transfer.connectCallbacks()
    return transfer
  }

  /// The statuses that libcurl handles itself: a proxy's challenge, that of a host for Negotiate, and a refused
  /// expectation.
  private static func provisional(_ setup: RequestSetup, _ configuration: ConnectionConfiguration) -> Set<Int> {
    var statuses: Set<Int> = []
    if configuration.proxy.credentials != nil { statuses.insert(407) }
    if configuration.negotiates(for: setup.request) { statuses.insert(401) }
    if setup.expectsContinue { statuses.insert(417) }
    return statuses
  }
}

extension Transfer {
  /// Makes libcurl call this transfer. The loop has a reference to it from its submission to its end.
  fileprivate func connectCallbacks() {
    let user = Unmanaged.passUnretained(self).toOpaque()
    handle.set(CURLOPT_HEADERFUNCTION, Callbacks.header)
    handle.set(CURLOPT_HEADERDATA, pointer: user)
    handle.set(CURLOPT_WRITEFUNCTION, Callbacks.write)
    handle.set(CURLOPT_WRITEDATA, pointer: user)
    handle.setRequest(Callbacks.request)
    handle.set(CURLOPT_PREREQDATA, pointer: user)
    handle.setDebug(Callbacks.debug)
    handle.set(CURLOPT_DEBUGDATA, pointer: user)
    if let headerLines { handle.set(CURLOPT_HTTPHEADER, pointer: headerLines) }
    if case .none = upload { return }
    handle.set(CURLOPT_READFUNCTION, Callbacks.read)
    handle.set(CURLOPT_READDATA, pointer: user)
    handle.setSeek(Callbacks.seek)
    handle.set(CURLOPT_SEEKDATA, pointer: user)
  }
}
#endif
