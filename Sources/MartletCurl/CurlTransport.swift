#if os(Linux)
import CCurl
public import MartletEngine
import MartletSemantics

/// The wire, spoken by the system's libcurl: HTTP/1.1 and HTTP/2 with multiplexing, TLS, proxies, streaming both ways with
/// back-pressure. The default on Linux. Content codings are undone by a ``DecodingTransport`` around it.
///
/// One thread drives all transfers of a transport; connections are shared by all its requests and kept open for reuse. A
/// transport that nobody holds any more, not even through an unread body, closes its connections and ends its thread.
///
/// Responses are what RFC 9112 §2 to §6 says, and anything else is an error of kind ``HTTPError/Kind/protocolViolation``: heads,
/// trailers, `Content-Length` and `Transfer-Encoding` are checked before anybody sees a part of them. What libcurl keeps to
/// itself cannot be: it takes chunk sizes with white space or extensions of any form behind them, and a line of trailers of
/// at most 4 KiB.
///
/// A connection of HTTP/1 over which anything comes while it is idle is closed and not used again. Over TLS that may have been
/// a session ticket: then a new connection is all it costs. Bytes that come in the moment after a request was sent cannot be
/// told from its response. Over HTTP/2, a response without a length whose connection fails after a GOAWAY, or while another
/// response is paused, ends as if it were whole, because libcurl 7.88 says so.
///
/// Where a pooled connection turns out to be closed, the request is sent again at once if it may be repeated and
/// ``RetryPolicy/replacesStaleConnections`` is set; ``Event/note(_:)`` tells. A request that may not be fails, and the error's
/// ``HTTPError/delivery`` says why.
///
/// ```swift
/// var configuration = CurlConfiguration()
/// configuration.tls.clientCertificate = .pkcs12(file: certificate, password: password)
/// let session = HTTPSession(transport: CurlTransport(configuration))
/// ```
public struct CurlTransport: Transport {
  private let stack: any Transport

  /// Makes a transport. If the system has no thread or descriptor for it, every request says so.
  public init(_ configuration: CurlConfiguration = .init()) {
    let wire = CurlWire(configuration)
    stack = configuration.decompresses ? DecodingTransport(wire) : wire
  }

  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    try await stack.send(request, in: exchange)
  }
}

/// The transport without content codings: bodies are handed out as they come over the network.
struct CurlWire: Transport {
  private let configuration: CurlConfiguration
  private let thread: Result<LoopThread, HTTPError>
  private let trust: Result<Trust, HTTPError>

  init(_ configuration: CurlConfiguration) {
    self.configuration = configuration
    trust = Result { () throws(HTTPError) in try configuration.tls.trust() }
    thread = Result { () throws(HTTPError) in try LoopThread(configuration) }
  }

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let thread = try thread.get()
    guard let origin = Origin(request.url) else { throw request.hasNoOrigin }
    guard request.method != .head || request.body.isEmpty else {
      throw HTTPError(.invalidRequest, "a HEAD request cannot have a body (RFC 9110 §9.3.2)", phase: .preparing)
    }
    let trust = try trust.get()
    let body = request.body.isEmpty ? nil : try await request.body.open()
    let setup: RequestSetup
    let transfer: Transfer
    do {
      setup = RequestSetup(
        request: request, origin: origin, configuration: configuration, handle: try thread.pool.take(), body: body,
        trust: trust)
      transfer = try makeTransfer(setup, isObserved: exchange.isObserved, chunks: thread.chunks)
    } catch {
      body?.source.cancel()
      throw error
    }
    let source = CurlBody(transfer, on: thread, of: body, in: exchange)
    let head = try await source.head()
    if head.status == .expectationFailed, setup.expectsContinue, !request.fields.contains(.expect),
      request.body.canBeSent
    {
      // the expectation was ours, so that it is ours to drop it; libcurl does it only where the connection stays open
      source.cancel()
      var request = request
      request.options.continueTimeout = nil
      return try await send(request, in: exchange)
    }
    return HTTPResponse(to: request, wire: head, from: source)
  }

  private func makeTransfer(_ setup: RequestSetup, isObserved: Bool, chunks: ChunkPool) throws(HTTPError) -> Transfer {
    let request = setup.request
    let limits = Transfer.Limits(
      response: request.options.responseTimeout?.nanoseconds, idle: request.options.idleTimeout?.nanoseconds,
      headerBytes: request.options.headerLimit,
      wholeBody: request.options.isCollected ? Int64(min(1 << 20, configuration.readAhead)) : 0,
      provisional: Self.provisional(setup, configuration), isObserved: isObserved,
      mayRepeat: request.replacesStaleConnection, method: request.method,
      allowsUpgrade: request.fields.contains(.upgrade),
      isSecure: setup.origin.isSecure, assumesHTTP2: configuration.versions == .http2PriorKnowledge,
      ownsConnection: setup.ownsConnection)
    let queue = UploadQueue(waitsForDemand: setup.expectsContinue || !request.body.isReplayable)
    let transfer = Transfer(
      handle: setup.handle, stream: ResponseStream(highWater: max(16 << 10, configuration.readAhead)),
      upload: setup.body == nil ? .none : request.body.bytes.map { .bytes($0) } ?? .queue(queue),
      limits: limits, headerLines: try setup.apply(), chunks: chunks)
    transfer.connectCallbacks()
    return transfer
  }

  /// libcurl answers a proxy's challenge, that of a host with which it negotiates, and a server that will not let it wait for a 100.
  private static func provisional(_ setup: RequestSetup, _ configuration: CurlConfiguration) -> Set<Int> {
    var statuses: Set<Int> = []
    if configuration.proxy.credentials != nil { statuses.insert(407) }
    if configuration.negotiates(for: setup.request) { statuses.insert(401) }
    if setup.expectsContinue { statuses.insert(417) }
    return statuses
  }
}

extension Transfer {
  /// Lets libcurl call this transfer. The loop keeps it alive from the submission to the end.
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
