@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An image that needs no request: one inside its URL (`data:`, RFC 2397), or in a local file (`file:`, RFC 8089).
struct LocalImage: Sendable {
  private enum Place: Sendable {
    case inURL
    case file
  }

  private let url: URL
  private let place: Place

  /// Makes the image of a URL; nil for a URL of any other kind.
  init?(_ url: URL) {
    switch url.scheme?.lowercased() {
    case "data": place = .inURL
    case "file": place = .file
    default: return nil
    }
    self.url = url
  }

  /// The key in a cache: for an image in its URL, which may have megabytes, a number that depends on all of it.
  func cacheKey(partition: String) -> CacheKey {
    guard case .inURL = place else { return CacheKey(url, partition: partition) }
    let text = url.absoluteString
    var hasher = Hasher()
    hasher.combine(text)
    return CacheKey(partition: partition, normalizedURL: "data:,\(text.utf8.count)-\(hasher.finalize())")
  }

  /// The URL for errors; nil for an image in its URL, which would be repeated.
  var reportedURL: URL? {
    if case .inURL = place { nil } else { url }
  }

  /// Reads the file. Call it on a thread for decoding.
  ///
  /// - Throws: ``ImageLoadError`` of the kinds `unreadable` and `tooLarge`.
  func load(upTo limit: Int) throws(ImageLoadError) -> ImageFileContent {
    switch place {
    case .inURL: ImageFileContent(data: try content(upTo: limit), source: .inline, url: nil)
    case .file: ImageFileContent(data: try fileContent(upTo: limit), source: .file, url: url)
    }
  }

  /// Decodes `data:[type][;base64],content` (RFC 2397 §3). As in browsers, white space in base64 is ignored, and its
  /// padding may be missing (the Fetch Standard's "data: URL processor").
  private func content(upTo limit: Int) throws(ImageLoadError) -> Data {
    let text = url.absoluteString.utf8
    guard let comma = text.firstIndex(of: UInt8(ascii: ",")) else {
      throw ImageLoadError(.unreadable, "the data URL has no comma between its type and its content")
    }
    let type = String(Substring(text[..<comma]))
    let isBase64 = type.filter { $0 != " " }.lowercased().hasSuffix(";base64")
    let content = text[text.index(after: comma)...].prefix { $0 != UInt8(ascii: "#") }
    // Base64 has four characters for three bytes.
    guard content.count / 4 * 3 <= limit else { throw Self.tooLarge(limit) }
    let bytes = Self.percentDecoded(content)
    guard isBase64 else { return Data(bytes) }
    var characters = bytes.filter { $0 > UInt8(ascii: " ") && $0 != UInt8(ascii: "=") }
    characters += Array(repeating: UInt8(ascii: "="), count: (4 - characters.count % 4) % 4)
    guard let decoded = Data(base64Encoded: Data(characters)) else {
      throw ImageLoadError(.unreadable, "the content of the data URL is not valid base64")
    }
    return decoded
  }

  private static func percentDecoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      let digits = byte == UInt8(ascii: "%") ? rest.prefix(2).compactMap(ASCII.hexadecimalValue) : []
      guard digits.count == 2 else {
        bytes.append(byte)
        continue
      }
      bytes.append(digits[0] << 4 | digits[1])
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  /// Reads a regular file of this machine: a pipe or a device could block the thread, or have no end.
  private func fileContent(upTo limit: Int) throws(ImageLoadError) -> Data {
    guard [nil, "", "localhost"].contains(url.host()) else {
      throw ImageLoadError(.unreadable, "the file URL names another machine: only local files are read")
    }
    let descriptor = SpareDescriptors.making { [path = url.path] in open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else {
      throw ImageLoadError(.unreadable, "the file cannot be opened: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw ImageLoadError(.unreadable, "the URL does not name a regular file")
    }
    // A file that is made when it is read has the size 0, and one that grows has more than it had.
    var data = Data()
    while let part = try Self.part(of: descriptor) {
      data.append(part)
      guard data.count <= limit else { throw Self.tooLarge(limit) }
    }
    return data
  }

  private static func part(of descriptor: Int32) throws(ImageLoadError) -> Data? {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(descriptor, &part, part.count)
    guard count >= 0 else {
      throw ImageLoadError(.unreadable, "the file cannot be read: \(String(cString: strerror(errno)))")
    }
    return count == 0 ? nil : Data(part.prefix(count))
  }

  private static func tooLarge(_ limit: Int) -> ImageLoadError {
    ImageLoadError(
      .tooLarge, "the file has more than \(limit) bytes: raise ImageLoader.Configuration.encodedBytesLimit")
  }
}
