import MartletSemantics

/// Asks for compressed bodies and undoes their content codings (RFC 9110 §8.4), on top of a transport that hands bodies out as
/// they were sent.
///
/// `CurlTransport` has it built in. Wrap it around a transport of your own that speaks to a network and leaves
/// `Content-Encoding` to others:
///
/// ```swift
/// let session = HTTPSession(transport: DecodingTransport(transport))
/// ```
///
/// - A request gets an `Accept-Encoding` of gzip, deflate, br and zstd (on Apple's platforms gzip and deflate). One that has
///   such a field already is sent as it is, and its response's body stays as it was sent. One with a `Range` asks for
///   `identity`, because a part of a coded body cannot be decoded.
/// - The codings that were undone are gone from ``HTTPResponse/head``, and with them `Content-Length`;
///   ``HTTPResponse/wire`` keeps both. A coding that is not known stays where it is, and so do those beneath it.
/// - A body is decoded as it is pulled, in chunks of at most 64 KiB. Limits count decoded bytes; see
///   ``RequestOptions/decompressionRatioLimit`` for another.
/// - Damage, a wrong checksum and an end that comes too early are errors of kind ``HTTPError/Kind/undecodableBody``. gzip may
///   have several members and zstd several frames. Up to 64 KiB of other bytes behind the end are left out, as browsers do,
///   and an ``Event/note(_:)`` tells. `deflate` is the zlib format or raw deflate. A body of no bytes at all is empty where
///   the message's framing says so.
public struct DecodingTransport: Transport {
  private let base: any Transport

  /// Wraps a transport.
  public init(_ base: any Transport) { self.base = base }

  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    guard !request.fields.contains(.acceptEncoding) else { return try await base.send(request, in: exchange) }
    var request = request
    guard !request.fields.contains(.range) else {
      request.fields[.acceptEncoding] = "identity"
      return try await base.send(request, in: exchange)
    }
    request.fields[.acceptEncoding] = ContentDecoders.acceptEncoding
    let response = try await base.send(request, in: exchange)
    guard response.fields.contains(.contentEncoding), response.hasWholeBody(for: request) else { return response }
    do { return try decoded(response, to: request, in: exchange) } catch {
      response.body.cancel()
      throw error
    }
  }

  /// The response with the codings undone, the last one first (RFC 9110 §8.4), up to the first that is not known.
  private func decoded(
    _ response: HTTPResponse, to request: HTTPRequest, in exchange: Exchange
  ) throws -> HTTPResponse {
    var codings = response.fields.list(.contentEncoding)
    guard codings.count <= Self.codingLimit else {
      throw HTTPError(
        .undecodableBody, "the response's body has \(codings.count) content codings; \(Self.codingLimit) are the limit",
        phase: .receiving)
    }
    let coded = CountedBody(response.body.source)
    var source: any BodySource = coded
    let peer = Origin(request.url)?.authority ?? "the response"
    while let coding = codings.last {
      if !ASCII.equalIgnoringCase(coding, "identity") {
        let wording = DecodedBody.Wording(coding: ASCII.lowercased(coding), peer: peer)
        guard let decoder = try Self.decoder(for: coding, wording) else { break }
        source = DecodedBody(
          source, decoder: decoder, wording: wording, allowsNothing: response.isFramed,
          note: { exchange.emit(.note($0)) })
      }
      codings.removeLast()
    }
    if let limit = request.options.decompressionRatioLimit {
      source = RatioLimitedBody(source, of: coded, limit: limit, peer: peer)
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
  /// Whether there is a body, and all of it: a part of a coded one cannot be decoded by itself.
  fileprivate func hasWholeBody(for request: HTTPRequest) -> Bool {
    request.method != .head && ![.noContent, .notModified, .partialContent].contains(status)
  }

  /// Whether the message itself says where its body ends, so that no bytes are as many as were meant (RFC 9112 §6.3).
  fileprivate var isFramed: Bool {
    fields.contains(.contentLength) || fields.contains(.transferEncoding)
      || ![.http1_0, .http1_1].contains(head.version)
  }

  /// The response whose body has been decoded, at least in part.
  fileprivate func replacingCodings(with codings: [String], body source: any BodySource) -> HTTPResponse {
    guard codings.count < fields.list(.contentEncoding).count else { return self }
    var response = self
    response.body = ResponseBody(from: source)
    response.fields.remove(.contentLength)
    response.fields.remove(.contentEncoding)
    if !codings.isEmpty { response.fields.append(codings.joined(separator: ", "), for: .contentEncoding) }
    return response
  }
}
