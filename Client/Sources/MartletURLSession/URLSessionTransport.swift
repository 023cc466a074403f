@_spi(Transports) public import MartletEngine
import MartletSemantics

/// A transport over Foundation's URLSession: the default on Apple's platforms.
///
/// On Linux, use it for comparison and for configurations with `protocolClasses`. `SocketTransport` is better there,
/// because Foundation's implementation has these limits:
///
/// | limit on Linux | effect |
/// |---|---|
/// | no backpressure | unread bodies are buffered in memory |
/// | a path with `..` is shortened, a GET with a body is refused | the request is not sent as given |
/// | no metrics | there is no ``Martlet/Event/metrics(_:)`` |
/// | a failed TLS handshake has no code of its own | the error has the kind `.other` |
///
/// URLSession does not report whether it has sent a request. If a request is cancelled while it waits for a connection,
/// the error has no phase, and the request counts towards a rate limit like one that was sent.
///
/// On all platforms Foundation joins the lines of a repeated field into one. Lines of `Set-Cookie` are split again at
/// each comma before a cookie's name and `=`, which is wrong for some values with a comma. The order of fields and the
/// trailers are lost, and bodies are decompressed regardless of `Accept-Encoding`.
///
/// A streamed request body is first read to its end, into memory up to 1 MiB and into a temporary file beyond that.
/// Then it is sent with its length, because Foundation's streamed uploads are not reliable on all platforms.
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.protocolClasses = [RecordedAnswers.self]
/// let session = HTTPSession(transport: URLSessionTransport(configuration))
/// ```
public struct URLSessionTransport: Transport {
  private let owner: SessionOwner
  /// The changed settings that are not supported.
  private let unsupported: [ConnectionConfiguration.Setting]

  /// Makes a transport with its own `URLSession`.
  ///
  /// - Parameter configuration: copied. Its storages of cookies, responses and credentials are not used, because the
  ///   engine has its own. Its timeouts have no effect: ``Martlet/RequestOptions/responseTimeout`` and
  ///   ``Martlet/RequestOptions/idleTimeout`` apply. An ephemeral one by default.
  public init(_ configuration: URLSessionConfiguration = .ephemeral) {
    self.init(configuration, refusing: [])
  }

  /// Makes a transport whose requests fail if there are settings of a connection that must not be ignored.
  @_spi(Transports) public init(
    _ configuration: URLSessionConfiguration, refusing unsupported: [ConnectionConfiguration.Setting]
  ) {
    owner = SessionOwner(configuration)
    self.unsupported = unsupported
  }

  /// Makes a transport with its own ephemeral `URLSession`.
  ///
  /// - Parameter connection: only ``Martlet/ConnectionConfiguration/connectionLimitPerHost`` is used. The other limits
  ///   and the service class have no effect. If settings of TLS, proxy, versions or compression differ from the
  ///   default, every request fails with ``Martlet/HTTPError/Kind/invalidRequest``, which names these settings, so that
  ///   no pin and no proxy is silently ignored.
  public init(_ connection: ConnectionConfiguration) {
    let configuration = URLSessionConfiguration.ephemeral
    let isDefault = connection.connectionLimitPerHost == ConnectionConfiguration().connectionLimitPerHost
    if !isDefault {
      configuration.httpMaximumConnectionsPerHost =
        connection.connectionLimitPerHost.map { max(1, $0) } ?? Int(Int32.max)
    }
    owner = SessionOwner(configuration)
    unsupported = connection.changedSettings.filter { !Self.limits.contains($0) }
  }

  private static let limits: Set<ConnectionConfiguration.Setting> = [
    .connectTimeout, .connectionLimitPerHost, .webSocketLimitPerHost, .connectionLimit, .idleConnectionLimit,
    .idleLifetime, .connectionLifetime, .readAhead, .serviceClass,
  ]

  /// Sends the request. Returns the final response's head, with its body still to be read.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard unsupported.isEmpty else {
      let names = unsupported.map(\.rawValue).joined(separator: ", ")
      throw HTTPError(
        .invalidRequest, "URLSession does not support these settings of the connection: \(names)", phase: .preparing)
    }
    let outgoing: OutgoingRequest
    do {
      outgoing = try await OutgoingRequest(request)
      try Task.checkCancellation()
    } catch {
      throw HTTPError(beforeSending: error)
    }
    let body = URLSessionBody(outgoing, options: request.options, on: owner, in: call)
    let head = try await body.head()
    var response = HTTPResponse(to: request, networkHead: head, from: body)
    response.informationalHeads = body.informationalHeads
    guard response.body.length != 0, head.fields.contains(.contentEncoding) else { return response }
    // URLSession decodes all content codings that it supports, regardless of the request
    response.fields.remove(.contentEncoding)
    response.fields.remove(.contentLength)
    response.body = ResponseBody(from: body)
    return response
  }
}
