#if os(Linux)
import CNGHTTP2
@_spi(Toolkit) import MartletSemantics

/// The fields of a head or of trailers, as they arrive. nghttp2 has checked their names, values and order.
struct HTTP2FieldBlock {
  private(set) var fields: HTTPFields = [:]
  /// Whether it has more bytes than the server takes; later fields are missing.
  private(set) var isTooLarge = false
  private var pseudo: [String: String] = [:]
  private var cookies: [String] = []
  private var size = 0

  mutating func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    size += name.count + value.count + 32
    guard size <= RequestHeadReader.limit else { return isTooLarge = true }
    let text = FieldOctets.text(value)
    if name.first == UInt8(ascii: ":") { return pseudo[String(decoding: name, as: UTF8.self)] = text }
    guard let name = try? FieldName(String(decoding: name, as: UTF8.self)) else { return }
    // A client may send each cookie in a line of its own (RFC 9113 §8.2.3).
    if name == .cookie { return cookies.append(text) }
    fields.appendReceived(name, RequestHeadReader.decoded(text))
  }

  /// Whether it is an extended CONNECT (RFC 8441 §4).
  var isTunnel: Bool { pseudo[":protocol"] != nil }

  /// The request; nil if it has no valid method or no target.
  func request(on connection: Int, handshake: LoopbackTLS.Handshake?) -> ReceivedRequest? {
    guard let method = pseudo[":method"].flatMap({ HTTPMethod(rawValue: $0) }),
      let target = pseudo[":path"] ?? pseudo[":authority"]
    else { return nil }
    // In the form of HTTP/1.1, so that a responder need not know the version (RFC 9113 §8.3.1).
    var all: HTTPFields = [:]
    if let authority = pseudo[":authority"], !fields.contains(.host) { all.appendReceived(.host, authority) }
    for (name, value) in fields { all.appendReceived(name, value) }
    if !cookies.isEmpty { all.appendReceived(.cookie, cookies.joined(separator: "; ")) }
    return ReceivedRequest(
      method: method, target: target, version: .http2, fields: all, connection: connection, handshake: handshake)
  }
}

/// Field lines in nghttp2's form.
struct HTTP2Lines {
  private var bytes: [UInt8] = []
  private var lengths: [(name: Int, value: Int)] = []

  mutating func append(_ name: String, _ value: String) {
    let (name, value) = (Array(name.utf8), FieldOctets.bytes(value))
    bytes += name + value
    lengths.append((name.count, value.count))
  }

  /// Appends fields, except those that belong to a connection of HTTP/1.1 (RFC 9113 §8.2.2).
  mutating func append(_ fields: HTTPFields) {
    let omitted: Set = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
    for (name, value) in fields where !omitted.contains(name.canonicalName) { append(name.canonicalName, value) }
  }

  /// Calls the closure with the lines, which are valid during the call.
  @discardableResult
  func withUnsafe<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
    var bytes = bytes
    return bytes.withUnsafeMutableBufferPointer { bytes in
      var position = 0
      let lines = lengths.map { lengths in
        defer { position += lengths.name + lengths.value }
        let start = bytes.baseAddress.map { $0 + position }
        return nghttp2_nv(
          name: start, value: start.map { $0 + lengths.name }, namelen: lengths.name, valuelen: lengths.value, flags: 0)
      }
      return lines.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
    }
  }
}
#endif
