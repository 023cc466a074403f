@_spi(Toolkit) public import MartletSemantics

/// Serves the files of a folder, as a server's responder or as part of one.
///
/// ```swift
/// let folder = StaticFolder(URL(filePath: "Photos"), mountedAt: "/photos")
/// let server = try LoopbackServer(port: 8080) { request in
///   request.path.hasPrefix("/photos/") ? folder.reply(to: request) : .status(.notFound)
/// }
/// ```
///
/// It answers GET and HEAD, and other methods with 405. The media type follows from the name's extension, the strong
/// `ETag` from the file's inode, size and modification time; conditional requests (RFC 9110 §13) and single ranges
/// (§14) are supported. A path that ends with a slash means the `index.html` there; folders are not listed. Files
/// outside the folder are never served, neither through `..`, however it is encoded, nor through symbolic links.
///
/// A file that is made when it is read, like the files of `/proc`, is sent whole, with neither a length nor an `ETag`.
/// It must not be stored.
public struct StaticFolder: Sendable {
  /// The freshness lifetime, as `Cache-Control: max-age`. One hour by default; nil sends no `Cache-Control`.
  public var maxAge: Duration? = .seconds(3600)
  private let root: String
  private let prefix: String

  /// Makes a responder.
  ///
  /// - Parameters:
  ///   - url: the folder. It is looked up at each request, so it may be created later.
  ///   - prefix: the path under which it is served, without a slash at the end; the root by default.
  public init(_ url: URL, mountedAt prefix: String = "") {
    root = url.path
    self.prefix = prefix
  }

  /// Returns the reply to a request: a file, a part of it, or an error status.
  public func reply(to request: LoopbackRequest) -> Reply { reply(to: request.received) }

  func reply(to request: ReceivedRequest) -> Reply {
    guard request.method == .get || request.method == .head else {
      return .status(.methodNotAllowed, fields: [.allow: "GET, HEAD"])
    }
    guard let file = file(at: request.path) else { return .text("no such file\n", status: .notFound) }
    if file.content.isMade {  // Neither its size nor its time says whether it has changed.
      let type = MediaTypes.type(ofName: file.name)
      return Reply(fields: [.contentType: type, .cacheControl: "no-store"], file.content.content)
    }
    let current = Validators(tag: file.tag, modified: file.content.modified.seconds)
    switch Preconditions.evaluate(request.fields, method: request.method, against: current) {
    case .fail: return .status(.preconditionFailed)
    case .notModified: return .status(.notModified, fields: fields(for: current))
    case .hold: return content(of: file, current, for: request)
    }
  }

  /// Returns the folder for a path, without leaving the root; nil if there is none.
  @_spi(Toolkit) public func folder(at path: String) -> URL? {
    guard path.hasPrefix(prefix), let names = FolderPath.names(in: path.dropFirst(prefix.count)),
      let resolved = FolderPath.resolve(names, in: root)
    else { return nil }
    let isFolder = (try? FileManager.default.attributesOfItem(atPath: resolved)[.type] as? FileAttributeType) ?? nil
    return isFolder == .typeDirectory ? URL(filePath: resolved) : nil
  }

  private func file(at path: String) -> FolderFile? {
    guard path.hasPrefix(prefix), var names = FolderPath.names(in: path.dropFirst(prefix.count)) else { return nil }
    if path.hasSuffix("/") { names.append("index.html") }
    guard let name = names.last, let path = FolderPath.resolve(names, in: root) else { return nil }
    return FolderFile(name: name, path: path)
  }

  private func content(of file: FolderFile, _ current: Validators, for request: ReceivedRequest) -> Reply {
    var fields = fields(for: current)
    fields[.contentType] = MediaTypes.type(ofName: file.name)
    fields[.acceptRanges] = "bytes"
    let size = file.content.size
    // Range is defined for GET alone (RFC 9110 §14.2).
    let mayBePart = request.method == .get && Preconditions.rangeApplies(request.fields, against: current)
    switch mayBePart ? ByteRange.read(request.fields[.range], size: size) : .whole {
    case .whole: return Reply(fields: fields, .file(file.content, 0..<size))
    case .part(let range):
      fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
      return Reply(status: .partialContent, fields: fields, .file(file.content, range))
    case .unsatisfiable: return .status(.rangeNotSatisfiable, fields: [.contentRange: "bytes */\(size)"])
    }
  }

  private func fields(for current: Validators) -> HTTPFields {
    var fields: HTTPFields = [
      .eTag: current.tag, .lastModified: HTTPDate.format(Date(timeIntervalSince1970: Double(current.modified))),
    ]
    if let maxAge { fields[.cacheControl] = "max-age=\(maxAge.components.seconds)" }
    return fields
  }
}

/// An open file of the folder.
private struct FolderFile {
  let name: String
  let content: OpenFile

  /// Returns nil if it is not a regular file, or cannot be opened.
  init?(name: String, path: String) {
    guard let content = try? OpenFile(path: path) else { return nil }
    self.name = name
    self.content = content
  }

  var tag: String {
    let time = content.modified.seconds &* 1_000_000_000 &+ content.modified.nanoseconds
    return "\"\(String(content.inode, radix: 16))-\(String(content.size, radix: 16))-\(String(time, radix: 16))\""
  }
}

/// Resolves the path of a URL to a file, never to one outside the folder.
enum FolderPath {
  /// Returns the names between the slashes, percent-decoded once; nil if one of them could leave the folder: `.`, `..`,
  /// a slash or a NUL in a name, an empty name, bytes that are not UTF-8.
  static func names(in path: some StringProtocol) -> [String]? {
    guard path.hasPrefix("/") else { return nil }
    var names: [String] = []
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      // A trailing slash means the folder itself.
      if part.isEmpty, index == parts.count - 1 { break }
      guard let name = decoded(part.utf8) else { return nil }
      guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(where: { $0 == 0 || $0 == 47 }) else {
        return nil
      }
      names.append(name)
    }
    return names
  }

  /// Returns the file's path with symbolic links resolved; nil if it does not exist, or is outside the folder.
  static func resolve(_ names: [String], in root: String) -> String? {
    guard let root = SystemCalls.resolvedPath(root),
      let path = SystemCalls.resolvedPath(([root] + names).joined(separator: "/"))
    else { return nil }
    guard path == root || path.hasPrefix(root == "/" ? root : root + "/") else { return nil }
    return path
  }

  /// Decodes percent-encoding (RFC 3986 §2.1); nil if an escape is malformed or the result is not UTF-8.
  private static func decoded(_ text: some Sequence<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = text.makeIterator()
    while let byte = rest.next() {
      guard byte == 37 else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(ASCII.hexadecimalValue),
        let low = rest.next().flatMap(ASCII.hexadecimalValue)
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// Media types as sent by web servers.
enum MediaTypes {
  /// Returns a file's type, by the extension of its name; text is declared as UTF-8.
  static func type(ofName name: String) -> String {
    let type = MediaType.ofFile(named: name)
    return type.type == "text" ? "\(type); charset=utf-8" : type.description
  }
}
