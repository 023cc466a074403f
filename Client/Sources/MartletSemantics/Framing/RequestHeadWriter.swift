/// Writes the head of an HTTP/1.1 request (RFC 9112 §3, §5): the request line, `Host`, and fields in their order.
///
/// Methods and names are tokens, and values have no control characters, because ``HTTPMethod``, ``FieldName`` and
/// ``HTTPFields`` refuse others; the caller must check target and host.
package struct RequestHeadWriter: Sendable {
  /// The bytes written so far.
  package private(set) var bytes: [UInt8] = []
  /// Whether the request asks to close the connection after its response (RFC 9112 §9.6).
  package private(set) var closesConnection = false
  /// Whether `Connection` lacks options that other fields require (RFC 9110 §7.6.1).
  private var missesUpgrade = false
  private var missesTE = false

  /// Begins a head.
  ///
  /// - Parameters:
  ///   - host: the value of `Host`, which comes first (RFC 9110 §7.2).
  ///   - appendTarget: appends the request target (RFC 9112 §3.2), in visible ASCII characters. It could be an array,
  ///     but each request would allocate one.
  package init<Failure: Error>(
    _ method: HTTPMethod, host: String, target appendTarget: (inout [UInt8]) throws(Failure) -> Void
  ) throws(Failure) {
    bytes.reserveCapacity(512)
    bytes.append(utf8: method.rawValue)
    bytes.append(32)
    try appendTarget(&bytes)
    bytes.append(utf8: " HTTP/1.1\r\nHost: ")
    bytes.append(utf8: host)
    endLine()
  }

  /// Writes the caller's fields unchanged and in order, without `Host`, which was already written, and without the
  /// fields that frame the message: a framing other than the transport's would allow request smuggling. Only the
  /// `trailers` of `TE` is written.
  package mutating func write(_ fields: HTTPFields) {
    var (hasUpgrade, hasTE, namesUpgrade, namesTE) = (false, false, false, false)
    for (name, value) in fields {
      guard Self.special.contains(name) else {
        write(value, for: name)
        continue
      }
      switch name {
      case .host, .contentLength, .transferEncoding: continue
      case .upgrade: hasUpgrade = true
      case .te:
        if !hasTE, HTTPFields.acceptsTrailers(value) {
          hasTE = true
          write("trailers", for: .te)
        }
        continue
      case .connection:
        for option in FieldList.elements(of: value[...]) {
          if ASCII.equalIgnoringCase(option, "close") { closesConnection = true }
          if ASCII.equalIgnoringCase(option, "upgrade") { namesUpgrade = true }
          if ASCII.equalIgnoringCase(option, "te") { namesTE = true }
        }
      default: break
      }
      write(value, for: name)
    }
    missesUpgrade = hasUpgrade && !namesUpgrade
    missesTE = hasTE && !namesTE
  }

  /// The fields that concern the connection or the framing.
  private static let special: FieldNames = [.host, .contentLength, .transferEncoding, .upgrade, .te, .connection]

  /// Writes one field.
  package mutating func write(_ value: String, for name: FieldName) { bytes.appendField(name, value) }

  /// Writes the options of `Connection` that other fields need (RFC 9110 §7.8, §10.1.4), and the empty line at the end.
  package mutating func finish() {
    if missesUpgrade || missesTE {
      write(
        [missesUpgrade ? "Upgrade" : nil, missesTE ? "TE" : nil].compactMap { $0 }.joined(separator: ", "),
        for: .connection)
    }
    endLine()
  }

  private mutating func endLine() {
    bytes.append(13)
    bytes.append(10)
  }
}

extension HTTPFields {
  /// Appends the lines of a trailer section, without the empty line at the end (RFC 9112 §7.1.2).
  package func appendLines(to bytes: inout [UInt8]) {
    for (name, value) in self { bytes.appendField(name, value) }
  }

  /// Whether a `TE` accepts trailers (RFC 9110 §10.1.4). Only that part of it is sent, because no transfer coding but
  /// `chunked` is decoded.
  package static func acceptsTrailers(_ value: String) -> Bool {
    FieldList.elements(of: value[...]).contains { ASCII.equalIgnoringCase(String($0), "trailers") }
  }

  /// The first name that must not be in a trailer section: a field that frames, routes, authenticates or controls the
  /// message, or says how to process its content (RFC 9110 §6.5.1).
  package var firstForbiddenTrailer: FieldName? { first { Self.forbiddenTrailers.contains($0.name) }?.name }

  private static let forbiddenTrailers: Set<FieldName> = [
    .contentLength, .transferEncoding, .trailer, .host, .connection, .te, .upgrade, .expect, "Max-Forwards",
    .authorization, .proxyAuthorization, .cookie, .setCookie, .wwwAuthenticate, .proxyAuthenticate, .cacheControl,
    .pragma, .contentEncoding, .contentType, .contentRange, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifRange,
  ]
}

extension [UInt8] {
  /// Appends the bytes of a text in one step, which its `utf8` view does not do.
  package mutating func append(utf8 text: String) {
    guard text.utf8.withContiguousStorageIfAvailable({ append(contentsOf: $0) }) == nil else { return }
    append(contentsOf: text.utf8)
  }

  /// Appends `name: value` and a line break. An empty value has no space before it. A cookie is written with the bytes
  /// that the server sent (``FieldOctets``).
  fileprivate mutating func appendField(_ name: FieldName, _ value: String) {
    append(utf8: name.rawName)
    append(UInt8(ascii: ":"))
    if !value.isEmpty {
      append(32)
      if name == .cookie, FieldOctets.hasOctets(value) {
        append(contentsOf: FieldOctets.bytes(value))
      } else {
        append(utf8: value)
      }
    }
    append(13)
    append(10)
  }
}
