/// Compares entity tags (RFC 9110 §8.8.3.2).
package enum EntityTag {
  /// Whether the tag is weak: `W/"…"`.
  package static func isWeak(_ tag: some StringProtocol) -> Bool { tag.hasPrefix("W/") }

  /// Strong comparison: equal, and neither is weak.
  package static func matchesStrongly(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    !isWeak(left) && left == right
  }

  /// Weak comparison: equal apart from weakness.
  package static func matchesWeakly(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    opaque(left) == opaque(right)
  }

  /// Whether the tag matches one of an `If-None-Match`; `*` matches any.
  package static func isListed(_ tag: String?, in list: [String]) -> Bool {
    list.contains { listed in listed == "*" || tag.map { matchesWeakly($0, listed) } == true }
  }

  private static func opaque(_ tag: some StringProtocol) -> String { String(isWeak(tag) ? tag.dropFirst(2) : tag[...]) }
}
