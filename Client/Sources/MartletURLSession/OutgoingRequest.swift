@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// A request in the form for URLSession.
struct OutgoingRequest: Sendable {
  let request: URLRequest
  let payload: Payload
  /// The length of the body; nil if it is unknown.
  let length: Int64?
  /// Host and port, for messages.
  let peer: String
  /// A week: ``URLSessionBody`` measures the timeouts.
  static let noTimeout: TimeInterval = 7 * 24 * 3600

  /// The body.
  enum Payload: Sendable {
    case none
    case bytes(Data)
    case file(URL)
    /// A temporary file, which is removed when the `SpoolFile` is released.
    case spooled(URL, SpoolFile)
  }

  init(_ original: HTTPRequest) async throws {
    guard let scheme = original.url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw HTTPError(
        .invalidRequest, "the URL '\(original.url.redacted)' is not an http or https URL", phase: .preparing)
    }
    if original.body.hasTrailers { throw HTTPError.trailersUnsupported(by: "URLSession") }
    request = Self.convert(original)
    peer = Self.peer(of: original.url)
    (payload, length) = try await Self.payload(of: original.body)
  }

  private static func convert(_ original: HTTPRequest) -> URLRequest {
    var request = URLRequest(url: original.url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: noTimeout)
    request.httpMethod = original.method.rawValue
    request.httpShouldHandleCookies = false
    request.setFields(original.fields, leavingOut: framing)
    return request
  }

  /// The fields that URLSession sets itself: other values would allow request smuggling.
  private static let framing: Set<FieldName> = [.contentLength, .transferEncoding]

  private static func payload(of body: RequestBody) async throws -> (Payload, Int64?) {
    if let bytes = body.bytes, !bytes.isEmpty { return (.bytes(bytes), Int64(bytes.count)) }
    // For a file, too: it throws if the file cannot be read.
    guard let opened = try await body.openUnlessEmpty() else { return (.none, 0) }
    // URLSession believes the size of a file, which may be wrong for one that is made when it is read.
    if case .file(let url) = body.storage, opened.length == size(of: url) { return (.file(url), opened.length) }
    return try await SpoolFile.collect(opened.source)
  }

  private static func size(of file: URL) -> Int64? {
    (try? FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)[.size] as? NSNumber)?
      .int64Value
  }

  private static func peer(of url: URL) -> String {
    let host = url.host() ?? "the request"
    let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    return url.port.map { "\(literal):\($0)" } ?? literal
  }
}

/// A temporary file with a request's body. Only the user can read it. It is removed when the last reference is
/// released.
final class SpoolFile: Sendable {
  private let file: PartialFile
  /// The maximum length of a body that is kept in memory.
  private static let memoryLimit = 1 << 20

  private init() throws {
    let place = FileManager.default.temporaryDirectory.appending(component: "body")
    file = try PartialFile(for: place, label: "martlet-body", access: .ownerOnly, phase: .preparing)
  }

  var url: URL { file.url }

  /// Reads a body to its end, into memory or, if it is long, into a file.
  static func collect(_ source: any BodySource) async throws -> (OutgoingRequest.Payload, Int64?) {
    var memory = Data()
    var file: SpoolFile?
    var count: Int64 = 0
    do {
      while let chunk = try await source.next() {
        try Task.checkCancellation()
        count += Int64(chunk.count)
        memory.append(chunk)
        guard memory.count > memoryLimit else { continue }
        let target = try file ?? SpoolFile()
        file = target
        try target.append(memory)
        memory = Data()
      }
      guard let file else { return (.bytes(memory), count) }
      try file.append(memory)
      return (.spooled(file.url, file), count)
    } catch {
      source.cancel()
      throw HTTPError(wrapping: error)
    }
  }

  private func append(_ data: Data) throws {
    do { try file.append(data) } catch {
      throw HTTPError(
        .file, "'\(url.path)' cannot be written: it is the temporary file of the request's body", phase: .preparing,
        underlying: error)
    }
  }
}
