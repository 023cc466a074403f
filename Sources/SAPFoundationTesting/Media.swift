public import MartletSemantics

/// A picture, or whatever else the entity set `Images` holds under a key.
public struct Media: Sendable, Hashable {
  /// The bytes.
  public var content: Data
  /// The media type; `image/jpeg` by default.
  public var type: String
  /// `Cache-Control`; `private, max-age=86400`, a day, by default; nil sends none.
  public var cacheControl: String?
  /// The entity tag, with its quotes; by default one that follows from the bytes.
  public var entityTag: String

  /// Makes a picture.
  public init(
    _ content: Data, type: String = "image/jpeg", cacheControl: String? = "private, max-age=86400",
    entityTag: String? = nil
  ) {
    self.content = content
    self.type = type
    self.cacheControl = cacheControl
    self.entityTag = entityTag ?? "\"\(content.count)-\(Self.sum(content))\""
  }

  /// FNV-1a: the same in every process, unlike Swift's own.
  private static func sum(_ data: Data) -> UInt64 {
    data.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
