import Martlet

/// The meaning of a picture's file extension.
enum ImageFileName {
  private static let extensions: Set<String> = [
    "jpeg", "jpg", "png", "webp", "gif", "avif", "heic", "tif", "tiff", "bmp", "svg",
  ]

  /// Whether the name ends with a picture's extension. `v1.2 party` does not.
  static func hasExtension(_ name: String) -> Bool {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return false }
    return extensions.contains(name[name.index(after: dot)...].lowercased())
  }

  static func withoutExtension(_ name: String) -> String {
    guard hasExtension(name), let dot = name.lastIndex(of: ".") else { return name }
    return String(name[..<dot])
  }
}
