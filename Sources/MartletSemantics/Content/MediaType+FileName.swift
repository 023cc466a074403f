extension MediaType {
  /// The type that a file's name stands for, by its extension: `image/png` for `Photo.PNG`.
  ///
  /// A guess about content that nobody looked at, good for common types. Names that it does not know are
  /// ``octetStream``.
  public static func ofFile(named name: String) -> MediaType {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return octetStream }
    let suffix = ASCII.lowercased(name[name.utf8.index(after: dot)...])
    return byExtension[suffix].flatMap { MediaType($0) } ?? octetStream
  }

  private static let byExtension = [
    "avif": "image/avif",
    "bmp": "image/bmp",
    "css": "text/css",
    "csv": "text/csv",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "gz": "application/gzip",
    "heic": "image/heic",
    "htm": "text/html",
    "html": "text/html",
    "ico": "image/x-icon",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "mjs": "text/javascript",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "txt": "text/plain",
    "wasm": "application/wasm",
    "wav": "audio/wav",
    "webm": "video/webm",
    "webp": "image/webp",
    "woff2": "font/woff2",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "zip": "application/zip",
    "zst": "application/zstd",
  ]
}
