import MartletSemantics

/// How a body is compressed (RFC 9110 §8.4.1), where a request asks for it.
public enum ContentCoding: String, Sendable, Hashable {
  /// RFC 1952: what every server understands that understands any.
  case gzip
  /// The zlib format of RFC 1950 (RFC 9110 §8.4.1.2), not raw deflate.
  case deflate
}

extension RequestBody {
  /// The body, compressed while it is sent, with its `Content-Encoding`.
  ///
  /// ```swift
  /// request.body = try .json(report).compressed()
  /// ```
  ///
  /// A server has to expect this: one that does not answers 415 (RFC 9110 §15.5.16). A body of up to 64 KiB is sent with its
  /// length; a larger one, and a stream that is there only once, chunked, because nobody knows it before. The body can be sent
  /// again if the original can.
  public func compressed(_ coding: ContentCoding = .gzip) -> RequestBody {
    guard !isEmpty else { return self }
    var fields = fields
    fields.append(coding.rawValue, for: .contentEncoding)
    let open: @Sendable () async throws -> OpenBody = { [self] in
      let plain = try await self.open()
      let source = DeflateSource(plain.source, coding: coding)
      guard singleUses.isEmpty, let length = plain.length, length <= Self.smallEnoughToMeasure else {
        return OpenBody(source: source, length: nil)
      }
      var data = Data()
      while let chunk = try await source.next() { data.append(chunk) }
      return OpenBody(source: DataSource(data), length: Int64(data.count))
    }
    return RequestBody(.made(open), length: nil, fields: fields, singleUses: singleUses)
  }

  private static let smallEnoughToMeasure: Int64 = 64 << 10
}
