import MartletSemantics

/// Media types by the extension of a file's name.
enum MediaTypes {
  /// The type of a file; `application/octet-stream` if the extension is unknown.
  static func type(ofName name: String) -> String {
    guard let dot = name.lastIndex(of: ".") else { return unknown }
    return table[ASCII.lowercased(name[name.index(after: dot)...])] ?? unknown
  }

  private static let unknown = "application/octet-stream"

  private static let table = [
    "avif": "image/avif",
    "bmp": "image/bmp",
    "css": "text/css; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "gif": "image/gif",
    "gz": "application/gzip",
    "htm": "text/html; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "ico": "image/x-icon",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "txt": "text/plain; charset=utf-8",
    "wasm": "application/wasm",
    "webm": "video/webm",
    "webp": "image/webp",
    "woff2": "font/woff2",
    "xml": "application/xml",
    "zip": "application/zip",
  ]
}
