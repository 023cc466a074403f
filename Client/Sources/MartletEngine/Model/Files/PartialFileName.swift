import MartletSemantics

/// The name of a partial file, `.<label>.<id>.partial`.
struct PartialFileName {
  let label: String
  private let id: String

  init(label: String, id: UInt64) {
    (self.label, self.id) = (label, String(id, radix: 36))
  }

  /// Parses a name; nil if it is not of that form, or contains a slash.
  init?(_ name: String) {
    let ending = ".partial"
    guard name.hasPrefix("."), name.hasSuffix(ending), !name.contains("/"), !name.utf8.contains(0) else { return nil }
    let inner = name.dropFirst().dropLast(ending.count)
    guard let dot = inner.lastIndex(of: ".") else { return nil }
    let id = inner[inner.index(after: dot)...]
    guard UInt64(id, radix: 36).map({ String($0, radix: 36) }) == String(id) else { return nil }
    (label, self.id) = (String(inner[..<dot]), String(id))
  }

  var text: String { ".\(label).\(id).partial" }

  /// 40 scalars are at most 160 of the 255 bytes of a name. The dot of a hidden file is dropped: the partial file has
  /// its own.
  static func label(for destination: URL) -> String {
    String(String.UnicodeScalarView(destination.lastPathComponent.unicodeScalars.drop { $0 == "." }.prefix(40)))
  }
}
