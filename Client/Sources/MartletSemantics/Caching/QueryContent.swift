/// The content of a QUERY as a part of its key (RFC 10008 §2.7).
///
/// The key has a digest of the bytes as they are sent and of the fields that describe them. Equal queries in different
/// forms (other white space in JSON, another content coding) have different keys: the RFC allows a cache to recognize
/// them, and warns of caches that do so differently from the resource (§4).
package enum QueryContent {
  /// Why content cannot be part of a key. ``CacheReason`` puts it into words.
  package enum Refusal: Error, Hashable {
    /// It can be read only once, which sending it does.
    case singleUse
    /// Trailer fields follow it.
    case trailers
    /// It is longer than ``QueryContent/limit``.
    case tooLong
    /// It could not be read.
    case unreadable
    /// The store cannot remove responses to QUERY with their target.
    case notStored
  }

  /// The maximum number of bytes: they are read before the request is sent.
  package static let limit: Int64 = 1 << 20

  /// Returns why content cannot be part of a key; nil if it can, as far as that is known before it is read.
  ///
  /// - Parameter length: the number of bytes; nil if it is not known.
  package static func refusal(isReplayable: Bool, hasTrailers: Bool, length: Int64?) -> Refusal? {
    guard isReplayable else { return .singleUse }
    guard !hasTrailers else { return .trailers }
    return length ?? 0 > limit ? .tooLong : nil
  }

  /// Returns the text that is hashed before the content: the fields that describe it ("related metadata": RFC 9110
  /// §8.3, §8.4, §8.5, §8.7). `Content-Length` and `Content-Digest` follow from the content.
  package static func hashed(before fields: HTTPFields) -> Data {
    var text = ""
    for name in describing {
      for value in fields[values: name] { text += "\(name.canonicalName): \(value)\n" }
    }
    // No value has a line break, so the empty line can only be the end.
    return Data((text + "\n").utf8)
  }

  private static let describing: [FieldName] = [.contentType, .contentEncoding, .contentLanguage, .contentLocation]
}
