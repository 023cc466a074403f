import MartletSemantics

/// The pieces of a path, encoded: joined with one slash each, whoever wrote slashes where.
struct RequestPath: Sendable, Hashable {
  private var segments: [String] = []
  private var endsWithSlash = false

  /// Adds text whose slashes separate segments. Returns whether that can be: `.` and `..` mean a place, not a name.
  mutating func append(text: String) -> Bool {
    let pieces = text.split(separator: "/", omittingEmptySubsequences: true)
    guard !pieces.contains("."), !pieces.contains("..") else { return false }
    segments += pieces.map { PercentEncoding.pathSegment.encode($0) }
    endsWithSlash = text.isEmpty ? endsWithSlash : text.hasSuffix("/")
    return true
  }

  /// Adds one segment, slashes and all. Returns whether that can be: nothing is no name.
  mutating func append(segment: String) -> Bool {
    guard segment != ".", segment != "..", !segment.isEmpty else { return false }
    segments.append(PercentEncoding.pathSegment.encode(segment))
    endsWithSlash = false
    return true
  }

  /// The path behind that of a base URL.
  func joined(to base: String) -> String {
    guard !segments.isEmpty else { return endsWithSlash && !base.hasSuffix("/") ? base + "/" : base }
    let start = base.hasSuffix("/") ? String(base.dropLast()) : base
    return start + "/" + segments.joined(separator: "/") + (endsWithSlash ? "/" : "")
  }
}
