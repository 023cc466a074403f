public import MartletSemantics

/// One stored answer: what it is found by, and its head. The body stays in the store until it is opened.
public struct CacheEntry: Sendable, Hashable, Identifiable {
  /// Which entry it is. The cache makes it, and it never changes, nor is it used again.
  public let id: UUID
  /// What it is found by.
  public let key: CacheKey
  /// Head, variant and times.
  public var response: StoredResponse
  /// The number of bytes of the body. In an entry that is being written, what the sender announced; nil where it did
  /// not. A store reports what was written.
  public var length: Int64?

  /// Makes an entry.
  public init(id: UUID = UUID(), key: CacheKey, response: StoredResponse, length: Int64? = nil) {
    self.id = id
    self.key = key
    self.response = response
    self.length = length
  }
}

/// Which entries are meant.
public enum CacheSelection: Sendable, Hashable {
  /// One.
  case entry(CacheEntry.ID)
  /// All variants of one URL in one partition.
  case key(CacheKey)
  /// All variants of one URL in every partition; the URL as ``CacheKey/url`` writes it.
  case url(String)
  /// All of a partition.
  case partition(String)
  /// Those that arrived, or were confirmed last, before that time: ``StoredResponse/responseTime``.
  case olderThan(Date)
  /// All.
  case all
}

/// How much is stored.
public struct CacheUsage: Sendable, Hashable {
  /// The number of entries that can be found.
  public var entries: Int
  /// Bytes of bodies and heads, as far as the store counts them against its capacity.
  public var bytes: Int64

  /// Makes a value.
  public init(entries: Int, bytes: Int64) {
    self.entries = entries
    self.bytes = bytes
  }
}
