import MartletSemantics

/// A field section as HTTP/2 sends it: names in lower case and values, as raw bytes in one piece of memory.
///
/// It is made on the calling task, so that the thread of the connections has no strings to convert.
struct HTTP2Fields: Sendable, Hashable {
  /// One field line: where its name begins; its value follows the name.
  struct Line: Sendable, Hashable {
    var start: Int
    var nameCount: Int
    var valueCount: Int
    /// Whether no HPACK table, here or in an intermediary, may contain it (RFC 7541 §6.2.3, §7.1.3).
    var isSecret: Bool
  }

  private(set) var bytes: [UInt8] = []
  private(set) var lines: [Line] = []

  init() {
    bytes.reserveCapacity(512)
    lines.reserveCapacity(16)
  }

  /// The size as `SETTINGS_MAX_HEADER_LIST_SIZE` counts it (RFC 9113 §6.5.2).
  var listSize: Int { bytes.count + 32 * lines.count }

  /// Names and values as text; octets that are not UTF-8 are replaced.
  var texts: [(name: String, value: String)] {
    lines.map { line in
      let (name, end) = (line.start + line.nameCount, line.start + line.nameCount + line.valueCount)
      return (
        String(decoding: bytes[line.start..<name], as: UTF8.self), String(decoding: bytes[name..<end], as: UTF8.self)
      )
    }
  }

  /// Appends a line. The name is in lower case.
  mutating func append(_ name: String, _ value: String, isSecret: Bool = false) {
    let start = bytes.count
    bytes.append(utf8: name)
    let end = bytes.count
    bytes.append(utf8: value)
    lines.append(Line(start: start, nameCount: end - start, valueCount: bytes.count - end, isSecret: isSecret))
  }

  /// Appends a line whose value is not text.
  mutating func append(_ name: String, bytes value: [UInt8], isSecret: Bool = false) {
    let start = bytes.count
    bytes.append(utf8: name)
    let end = bytes.count
    bytes.append(contentsOf: value)
    lines.append(Line(start: start, nameCount: end - start, valueCount: value.count, isSecret: isSecret))
  }

  /// Appends the fields of a message, without those that HTTP/2 must not have.
  ///
  /// - `Connection` and the fields that it names, `Keep-Alive`, `Proxy-Connection`, `Transfer-Encoding` and `Upgrade`
  ///   belong to a connection of HTTP/1 (RFC 9113 §8.2.2). `TE` may only be `trailers`.
  /// - `Host` is `:authority`, and `Content-Length` is the transport's own.
  mutating func append(_ fields: HTTPFields) {
    let nominated = fields.contains(.connection) ? fields.list(.connection).map { ASCII.lowercased($0) } : []
    for (name, value) in fields {
      let canonical = name.canonicalName
      guard nominated.isEmpty || !nominated.contains(canonical) else { continue }
      switch Treatment(of: canonical) {
      case .omitted: break
      case .te:
        // any other value is left out: it is an offer to the next recipient only
        if HTTPFields.acceptsTrailers(value) { append(canonical, "trailers") }
      case .secret where canonical == "cookie" && FieldOctets.hasOctets(value):
        append(canonical, bytes: Array(FieldOctets.bytes(value)), isSecret: true)
      case .secret: append(canonical, value, isSecret: true)
      case .plain: append(canonical, value)
      }
    }
  }

  /// How a field of a message is sent.
  private enum Treatment {
    case plain
    case omitted
    /// The fields whose values are secrets of the user: what a table shares with other requests, an attacker who causes
    /// some of them could guess by the sizes of messages (RFC 7541 §7.1).
    case secret
    case te

    /// The names are sorted by their lengths: to compare a name with all of them takes longer than to send it.
    init(of name: String) {
      switch (name.utf8.count, name) {
      case (2, "te"): self = .te
      case (4, "host"), (7, "upgrade"), (10, "connection"), (10, "keep-alive"), (14, "content-length"),
        (14, "http2-settings"), (16, "proxy-connection"), (17, "transfer-encoding"), (19, "proxy-authorization"):
        self = .omitted
      case (6, "cookie"), (9, "x-api-key"), (10, "set-cookie"), (12, "x-auth-token"), (12, "x-csrf-token"),
        (12, "x-xsrf-token"), (13, "authorization"):
        self = .secret
      default: self = .plain
      }
    }
  }
}
