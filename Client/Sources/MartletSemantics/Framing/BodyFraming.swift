/// How the length of a response body is determined (RFC 9112 §6.3).
@_spi(Toolkit) public enum BodyFraming: Sendable, Hashable {
  /// There is no body: see ``hasBody(status:answering:)``.
  case none
  /// The number of bytes is known (rule 6).
  case length(Int64)
  /// The chunked transfer coding (rule 4).
  case chunked
  /// The body ends with the connection (rule 8).
  case untilClose

  /// Whether a response has a body, by its status and the method of its request (RFC 9110 §6.4.1). A response to HEAD
  /// has none, nor has a 1xx, a 204 or a 304 (rule 1). A 2xx to CONNECT is followed by a tunnel (rule 2).
  public static func hasBody(status: Int, answering method: HTTPMethod) -> Bool {
    switch status {
    case ..<200, 204, 304: false
    case ..<300: method != .head && method != .connect
    default: method != .head
    }
  }

  /// Determines the framing from the fields that frame a message.
  ///
  /// - If a message has no body by its status or method, its length is not validated (rules 1 and 2).
  /// - `Transfer-Encoding` must be `chunked`, because nothing else was offered. It is also read in an HTTP/1.0 message,
  ///   whose connection must then be closed (§6.1).
  /// - Chunks take precedence over a `Content-Length` (rule 3), which must still be valid.
  /// - A `Content-Length` that repeats the same number, in one line or several, counts as that number (rule 5).
  package init(status: Int, answering method: HTTPMethod, fields: FramingFields) throws(MessageFault) {
    guard Self.hasBody(status: status, answering: method) else {
      self = .none
      return
    }
    let length = try fields.length()
    if try fields.isChunked() {
      self = .chunked
    } else {
      self = length.map { .length($0) } ?? .untilClose
    }
  }

  /// Determines the framing from the values of the fields that frame a message.
  package init(
    status: Int, answering method: HTTPMethod, lengths: [String], codings: [String]
  ) throws(MessageFault) {
    var fields = FramingFields()
    for value in lengths { Array(value.utf8).withUnsafeBytes { fields.take($0, of: .contentLength) } }
    for value in codings { Array(value.utf8).withUnsafeBytes { fields.take($0, of: .transferEncoding) } }
    try self.init(status: status, answering: method, fields: fields)
  }
}

/// The framing and connection information in the fields of a head. It takes the fields line by line; an invalid one
/// matters only if the message may have a body.
package struct FramingFields: Sendable {
  private var known: Result<Int64?, MessageFault> = .success(nil)
  private var hasCoding = false
  /// The number of transfer codings, and whether one of them is `chunked`.
  private var codings = 0
  private var hasChunked = false
  /// The options of `Connection` (RFC 9112 §9.3, §9.6).
  private var closes = false
  private var keepsAlive = false
  /// After how many idle seconds the server closes the connection: the `timeout` of `Keep-Alive`; nil if it names none.
  private(set) var idleSeconds: Int?

  package init() {}

  /// Takes the value of a field line.
  mutating func take(_ value: UnsafeRawBufferPointer, of kind: FieldLine.Kind) {
    switch kind {
    case .contentLength: takeLength(value)
    case .transferEncoding:
      hasCoding = true
      ByteScan.forEachElement(of: value) {
        codings += 1
        if ByteScan.equals($0, "chunked") { hasChunked = true }
      }
    case .connection:
      ByteScan.forEachElement(of: value) {
        if ByteScan.equals($0, "close") { closes = true }
        if ByteScan.equals($0, "keep-alive") { keepsAlive = true }
      }
    case .keepAlive:
      ByteScan.forEachElement(of: value) { element in
        guard element.count > 8, ByteScan.equals(UnsafeRawBufferPointer(rebasing: element[..<8]), "timeout=") else {
          return
        }
        idleSeconds = CacheControl.deltaSeconds(String(decoding: element[8...], as: UTF8.self)) ?? idleSeconds
      }
    case .other: break
    }
  }

  /// Takes a line that continues a `Connection` (obs-fold). Its options are not read: the connection is closed after
  /// the response, which is always allowed (RFC 9112 §9.5).
  mutating func takeFoldedConnection() { closes = true }

  /// The length; nil if there is none.
  func length() throws(MessageFault) -> Int64? { try known.get() }

  /// Whether the body is chunked.
  func isChunked() throws(MessageFault) -> Bool {
    guard hasCoding else { return false }
    guard codings == 1, hasChunked else { throw .transferEncoding }
    return true
  }

  /// Whether the connection persists after a message that does not end with it (RFC 9112 §9.3). It does not persist
  /// - after the option `close`, or in HTTP/1.0 without `keep-alive`;
  /// - after `Transfer-Encoding` in HTTP/1.0, whose framing is not reliable (§6.1);
  /// - after both `Transfer-Encoding` and `Content-Length`, which may be an attempt at smuggling (§6.3 rule 3).
  func keepsConnection(in version: HTTPVersion) -> Bool {
    if closes { return false }
    if version == .http1_0 { return keepsAlive && !hasCoding }
    if case .success(nil) = known { return true }
    return !hasCoding
  }

  /// 1*DIGIT; a list of equal numbers is one number.
  private mutating func takeLength(_ value: UnsafeRawBufferPointer) {
    guard case .success(var length) = known else { return }
    var index = 0
    while true {
      while index < value.count, ASCII.isWhitespace(value[index]) { index += 1 }
      guard let number = Self.number(in: value, at: &index) else { return known = .failure(.contentLength) }
      while index < value.count, ASCII.isWhitespace(value[index]) { index += 1 }
      guard index == value.count || value[index] == UInt8(ascii: ",") else { return known = .failure(.contentLength) }
      guard length == nil || length == number else { return known = .failure(.contentLengths) }
      length = number
      if index == value.count { break }
      index += 1
    }
    known = .success(length)
  }

  private static func number(in bytes: UnsafeRawBufferPointer, at index: inout Int) -> Int64? {
    let start = index
    var number: Int64 = 0
    while index < bytes.count, ASCII.isDigit(bytes[index]) {
      let (tenfold, overflows) = number.multipliedReportingOverflow(by: 10)
      let (sum, exceeds) = tenfold.addingReportingOverflow(Int64(bytes[index] - 48))
      if overflows || exceeds { return nil }
      number = sum
      index += 1
    }
    return index > start ? number : nil
  }
}
