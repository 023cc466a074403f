extension RedirectRule {
  /// What to tell people when redirects do not come to an end; nil as long as they stay within the limit.
  ///
  /// - Parameters:
  ///   - visited: The URLs in order: the first request's, and the target of each redirect, that of the one to be
  ///     followed now included.
  ///   - limit: How many redirects may be followed.
  /// - Returns: A sentence that names the loop, if there is one, or the last few places, without their secrets.
  package static func tooMany(visited: [URL], limit: Int) -> String? {
    guard visited.count - 1 > max(0, limit) else { return nil }
    let trail = loop(in: visited) ?? (name: "the last were", places: visited.suffix(4))
    var places = trail.places.map(\.redacted)
    if places.count > 8 { places.replaceSubrange(4..<(places.count - 3), with: ["…"]) }
    return "more than \(limit) redirect\(limit == 1 ? "" : "s"); \(trail.name): \(places.joined(separator: " → "))"
  }

  /// The shortest way back to the last place, both ends included; nil if it was never visited before.
  private static func loop(in visited: [URL]) -> (name: String, places: ArraySlice<URL>)? {
    guard let last = visited.last, let before = visited.dropLast().lastIndex(of: last) else { return nil }
    return ("loop", visited[before...])
  }
}
