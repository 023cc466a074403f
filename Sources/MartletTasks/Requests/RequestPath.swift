import MartletSemantics

/// The pieces of a path, encoded: joined with one slash each, whoever wrote slashes where.
struct RequestPath: Sendable, Hashable {
  private var segments: [String] = []
  private var endsWithSlash = false

  /// Adds text whose slashes separate segments.
  mutating func append(text: String) {
    let pieces = text.split(separator: "/", omittingEmptySubsequences: true)
    segments += pieces.map { PercentEncoding.pathSegment.encode($0) }
    if !pieces.isEmpty || text.hasPrefix("/") { endsWithSlash = text.hasSuffix("/") && !pieces.isEmpty }
  }

  /// Adds one segment, slashes and all. Returns whether that can be: `.` and `..` mean a place, not a name.
  mutating func append(segment: String) -> Bool {
    guard segment != ".", segment != "..", !segment.isEmpty else { return false }
    segments.append(PercentEncoding.pathSegment.encode(segment))
    endsWithSlash = false
    return true
  }

  /// The path behind that of a base URL.
  func joined(to base: String) -> String {
    guard !segments.isEmpty else { return base }
    let start = base.hasSuffix("/") ? String(base.dropLast()) : base
    return start + "/" + segments.joined(separator: "/") + (endsWithSlash ? "/" : "")
  }
}
