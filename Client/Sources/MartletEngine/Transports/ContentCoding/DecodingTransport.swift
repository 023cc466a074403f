@_spi(Toolkit) import MartletSemantics

/// A transport that requests compressed bodies and decodes their content codings (RFC 9110 §8.4). The transport that it
/// wraps returns bodies as they were sent.
///
/// The network transports of this package already include it. Wrap it around a custom network transport that does not
/// decode bodies itself:
///
/// ```swift
/// let session = HTTPSession(transport: DecodingTransport(transport))
/// ```
///
/// - A request gets an `Accept-Encoding` field with gzip, deflate, br and zstd (gzip and deflate on Apple's platforms).
///   If it already has one, it is sent unchanged, and its response is not decoded. If the request omits the field
///   (``RequestOptions/omittedFields``), a response that is coded anyway is decoded. If it has a `Range`, the field is
///   `identity`, because a part of a coded body cannot be decoded.
/// - Decoded codings are removed from ``HTTPResponse/head``, and so is `Content-Length`; ``HTTPResponse/networkHead``
///   keeps both. An unknown coding, and all codings applied before it, are not decoded.
/// - A body is decoded as it is read, in chunks of at most 128 KiB. Limits count decoded bytes; see also
///   ``RequestOptions/decompressionRatioLimit``.
/// - Damaged and truncated data and wrong checksums are errors of kind ``HTTPError/Kind/undecodableBody``. gzip may
///   have several members and zstd several frames. Up to 64 KiB of other bytes after the end are ignored, as in
///   browsers, with an ``Event/note(_:)``. `deflate` is the zlib format or raw deflate. An empty body is valid if the
///   message's framing ends it there.
public struct DecodingTransport: Transport {
  private let base: any Transport

  /// Wraps a transport.
  public init(_ base: any Transport) { self.base = base }

  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let response = try await base.send(Self.acceptingCodings(request), in: call)
    guard response.fields.contains(.contentEncoding) else { return response }
    return try Self.decoded(response, to: request, in: call)
  }

  /// Passes it on.
  public func releaseConnections(_ which: ConnectionRelease) async { await base.releaseConnections(which) }

  /// Returns the request with an `Accept-Encoding`, unless it has or omits one.
  package static func acceptingCodings(_ request: HTTPRequest) -> HTTPRequest {
    guard !request.hasOrOmits(.acceptEncoding) else { return request }
    var request = request
    request.fields[.acceptEncoding] = request.fields.contains(.range) ? "identity" : ContentDecoders.acceptEncoding
    return request
  }

  /// Returns the response with its codings decoded, if the caller has not asked for coded bytes.
  package static func decoded(_ response: HTTPResponse, to request: HTTPRequest, in call: Call) throws -> HTTPResponse {
    guard !request.fields.contains(.acceptEncoding), !request.fields.contains(.range),
      response.hasWholeBody(for: request)
    else { return response }
    do {
      return try undoingCodings(of: response.checkingDigests(for: request), to: request, in: call)
    } catch {
      response.body.cancel()
      throw error
    }
  }

  /// Returns the response with its codings decoded, the last one first (RFC 9110 §8.4), up to the first unknown one.
  private static func undoingCodings(
    of response: HTTPResponse, to request: HTTPRequest, in call: Call
  ) throws -> HTTPResponse {
    var codings = response.fields.list(.contentEncoding)
    guard codings.count <= codingLimit else {
      throw HTTPError(
        .undecodableBody, "the response's body has \(codings.count) content codings, the limit is \(codingLimit)",
        phase: .receiving)
    }
    let coded = CountedBody(response.body.source)
    var source: any BodySource = coded
    let peer = request.origin?.authority ?? "the response"
    while let coding = codings.last {
      if !ASCII.equalIgnoringCase(coding, "identity") {
        let wording = DecodedBody.Wording(coding: ASCII.lowercased(coding), peer: peer) { call.emit(.note($0)) }
        guard let decoder = try decoder(for: coding, wording) else { break }
        source = DecodedBody(source, decoder: decoder, wording: wording, isFramed: response.isFramed)
      }
      codings.removeLast()
    }
    if let limit = request.options.decompressionRatioLimit {
      source = RatioLimitedBody(source, of: coded, limit: limit, peer: peer)
    }
    if !call.events.isEmpty {
      call.decodedCodings = Array(response.fields.list(.contentEncoding).dropFirst(codings.count))
    }
    return response.replacingCodings(with: codings, body: source)
  }

  private static func decoder(for coding: String, _ wording: DecodedBody.Wording) throws
    -> sending (any ContentDecoder)?
  {
    do { return try ContentDecoders.make(for: coding) } catch let failure as DecodingFailure {
      throw wording.error("cannot be decoded: \(failure.reason)")
    }
  }

  private static let codingLimit = 5
}

extension HTTPResponse {
  /// Whether there is a whole body: a part of a coded body cannot be decoded.
  fileprivate func hasWholeBody(for request: HTTPRequest) -> Bool {
    BodyFraming.hasBody(status: status.code, answering: request.method) && status != .partialContent
  }

  /// Whether the message's framing ends its body, so that an empty body is not a truncated one.
  fileprivate var isFramed: Bool {
    guard [.http1_0, .http1_1].contains(head.version) else { return true }
    let framing = try? BodyFraming(
      status: status.code, answering: .get, lengths: fields[values: .contentLength],
      codings: fields[values: .transferEncoding])
    return framing != .untilClose
  }

  /// Returns the response with a decoded body and the remaining codings.
  fileprivate func replacingCodings(with codings: [String], body source: any BodySource) -> HTTPResponse {
    guard codings.count < fields.list(.contentEncoding).count else { return self }
    var response = self
    // Without content, nothing is decoded, and the length is still known.
    if response.body.length != 0 { response.body = ResponseBody(from: source) }
    response.fields.remove(.contentLength)
    response.fields.remove(.contentEncoding)
    if !codings.isEmpty { response.fields.append(codings.joined(separator: ", "), for: .contentEncoding) }
    return response
  }
}

@_spi(Transports) extension DecodingTransport: DeadlineAware {
  /// The value of the transport that it wraps.
  public var endsAtDeadline: Bool { Deadline.isKept(by: base) }
}
