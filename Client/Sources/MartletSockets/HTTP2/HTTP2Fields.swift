@_spi(Toolkit) import MartletSemantics

/// A field section in the form of HTTP/2: lower-case names and values, as raw bytes in one piece of memory.
///
/// It is made on the calling task, so that the connections' thread need not convert strings.
struct HTTP2Fields: Sendable, Hashable {
  /// One field line: the position of its name; its value follows the name.
  struct Line: Sendable, Hashable {
    var start: Int
    var nameCount: Int
    var valueCount: Int
    /// Whether it must not enter any HPACK table, here or in an intermediary (RFC 7541 §6.2.3, §7.1.3).
    var isSecret: Bool
  }

  private(set) var bytes: [UInt8] = []
  private(set) var lines: [Line] = []

  init() {
    bytes.reserveCapacity(512)
    lines.reserveCapacity(16)
  }

  /// The size as counted by `SETTINGS_MAX_HEADER_LIST_SIZE` (RFC 9113 §6.5.2).
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

  /// Appends a line. The name must be in lower case.
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

  /// Appends the fields of a message, except fields that HTTP/2 forbids.
  ///
  /// - `Connection` and the fields that it names, `Keep-Alive`, `Proxy-Connection`, `Transfer-Encoding` and `Upgrade`
  ///   belong to an HTTP/1 connection (RFC 9113 §8.2.2). `TE` may only be `trailers`.
  /// - `:authority` replaces `Host`, and the transport itself sets `Content-Length`.
  mutating func append(_ fields: HTTPFields) {
    let nominated = fields.contains(.connection) ? fields.list(.connection).map { ASCII.lowercased($0) } : []
    for (name, value) in fields {
      let canonical = name.canonicalName
      guard nominated.isEmpty || !nominated.contains(canonical) else { continue }
      switch Treatment(of: name) {
      case .omitted: break
      case .te:
        // Any other value is omitted: it only concerns the next recipient.
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
    /// A field whose value is a secret of the user. An attacker who causes other requests could guess values in a
    /// shared table by the sizes of messages (RFC 7541 §7.1).
    case secret
    case te

    init(of field: FieldName) {
      switch field.canonicalName {
      case "te": self = .te
      case "host", "upgrade", "connection", "keep-alive", "content-length", "http2-settings", "proxy-connection",
        "transfer-encoding", "proxy-authorization":
        self = .omitted
      default: self = field.isSecret ? .secret : .plain
      }
    }
  }
}
