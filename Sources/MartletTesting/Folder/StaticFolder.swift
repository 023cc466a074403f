public import MartletSemantics

/// Serves the files of a folder: a responder, or a part of one.
///
/// ```swift
/// let folder = StaticFolder(URL(filePath: "Photos"), mountedAt: "/photos")
/// let server = try LoopbackServer(port: 8080) { request in
///   request.path.hasPrefix("/photos/") ? folder.reply(to: request) : .status(.notFound)
/// }
/// ```
///
/// GET and HEAD, other methods get 405. The type comes from the name's extension, the strong `ETag` from the file's
/// identity, size and time of change; conditional requests (RFC 9110 §13) and single ranges (§14) are obeyed. A path that
/// ends with a slash means the `index.html` there; folders are not listed. Nothing outside the folder is ever served,
/// neither through `..`, however it is encoded, nor through symbolic links.
public struct StaticFolder: Sendable {
  /// How long a client may keep a file without asking again: `Cache-Control: max-age`. One hour by default; nil sends
  /// no `Cache-Control`.
  public var maxAge: Duration? = .seconds(3600)
  private let root: String
  private let prefix: String

  /// Makes a responder.
  ///
  /// - Parameters:
  ///   - url: the folder. It is looked up at each request, so it may appear later.
  ///   - prefix: the path under which it is served, without a slash at its end; the root by default.
  public init(_ url: URL, mountedAt prefix: String = "") {
    root = url.path
    self.prefix = prefix
  }

  /// The reply to a request: a file, a part of it, or the status that says why not.
  public func reply(to request: LoopbackRequest) -> Reply { reply(to: request.received) }

  func reply(to request: ReceivedRequest) -> Reply {
    guard request.method == .get || request.method == .head else {
      return .status(.methodNotAllowed, fields: [.allow: "GET, HEAD"])
    }
    guard let file = file(at: request.path) else { return .text("there is no such file\n", status: .notFound) }
    let current = Validators(tag: file.tag, modified: file.content.modified.seconds)
    switch Preconditions.evaluate(request.fields, method: request.method, against: current) {
    case .fail: return .status(.preconditionFailed)
    case .notModified: return .status(.notModified, fields: fields(for: current))
    case .hold: return content(of: file, current, for: request)
    }
  }

  private func file(at path: String) -> FolderFile? {
    guard path.hasPrefix(prefix), var names = FolderPath.names(in: path.dropFirst(prefix.count)) else { return nil }
    if path.hasSuffix("/") { names.append("index.html") }
    guard let name = names.last, let truePath = FolderPath.resolve(names, in: root) else { return nil }
    return FolderFile(name: name, path: truePath)
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

/// A file of the folder, open.
private struct FolderFile {
  let name: String
  let content: OpenFile

  /// nil if it is no regular file, or cannot be read.
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
