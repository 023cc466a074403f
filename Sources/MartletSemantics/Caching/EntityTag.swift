/// The comparison of entity tags (RFC 9110 §8.8.3.2).
package enum EntityTag {
  /// Whether the tag is weak: `W/"…"`.
  package static func isWeak(_ tag: some StringProtocol) -> Bool { tag.hasPrefix("W/") }

  /// Equal, and neither is weak: byte for byte the same representation.
  package static func matchesStrongly(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    !isWeak(left) && left == right
  }

  /// Equal but for weakness.
  package static func matchesWeakly(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    opaque(left) == opaque(right)
  }

  /// Whether one of the tags of an `If-None-Match` is this one; `*` is every one.
  package static func isListed(_ tag: String?, in list: [String]) -> Bool {
    list.contains { listed in listed == "*" || tag.map { matchesWeakly($0, listed) } == true }
  }

  private static func opaque(_ tag: some StringProtocol) -> String { String(isWeak(tag) ? tag.dropFirst(2) : tag[...]) }
}
