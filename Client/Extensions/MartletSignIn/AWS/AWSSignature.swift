@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Computes the signature of a request in version 4 of AWS's scheme, `AWS4-HMAC-SHA256`, from the parts of the request.
struct AWSSignature {
  let credentials: AWSCredentials
  let region: String
  let service: String
  /// The time in seconds, `20150830T123600Z`, which is also the request's `X-Amz-Date`.
  let time: String

  /// The fields that are not signed, because the transport or a proxy sets or changes them.
  private static let unsigned: Set<FieldName> = [
    .acceptEncoding, .authorization, .connection, .contentLength, .expect, .proxyAuthorization, .te, .trailer,
    .transferEncoding, .upgrade, .userAgent, .host, "Proxy-Connection", "X-Amzn-Trace-Id",
  ]

  /// S3 gets each path encoded once and keeps its dots and slashes; all other services get it encoded twice.
  private var keepsPath: Bool { Self.isS3(service) }

  /// S3 and its relatives; not S3 Tables and S3 Vectors, which are like all other services.
  static func isS3(_ service: String) -> Bool {
    ["s3", "s3express", "s3-outposts", "s3-object-lambda"].contains(service)
  }

  /// Returns the value of `Authorization`; nil if the system offers no SHA-256.
  ///
  /// - Parameters:
  ///   - host: the value of the request's `Host`.
  ///   - target: the path and the query as they are sent, encoded.
  ///   - fields: the request's fields, with `X-Amz-Date`.
  ///   - payload: the hash of the body in hexadecimal digits.
  func authorization(
    _ method: HTTPMethod, host: String, target: String, _ fields: HTTPFields, payload: String
  ) -> String? {
    let path = target.prefix { $0 != "?" }
    let query = target[path.endIndex...].dropFirst()
    let signed = Self.signedFields(fields, host: host)
    let names = signed.map(\.name).joined(separator: ";")
    let lines = signed.map { "\($0.name):\($0.value)\n" }.joined()
    let request = [
      method.rawValue, canonical(path: String(path)), Self.canonical(query: String(query)), lines, names, payload,
    ]
    .joined(separator: "\n")
    let scope = "\(time.prefix(8))/\(region)/\(service)/aws4_request"
    guard let hash = MessageDigest.hash(.sha256, Data(request.utf8))?.hexadecimal,
      let key = key(), let signature = Self.hmac("AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)", key)
    else { return nil }
    return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope), SignedHeaders=\(names), "
      + "Signature=\(signature.hexadecimal)"
  }

  /// The key for a day, a region and a service, so that it is useless for others.
  private func key() -> Data? {
    let parts = [String(time.prefix(8)), region, service, "aws4_request"]
    return parts.reduce(Data("AWS4\(credentials.secretAccessKey)".utf8)) { key, part in
      key.flatMap { Self.hmac(part, $0) }
    }
  }

  /// HMAC with SHA-256 (RFC 2104).
  private static func hmac(_ text: String, _ key: Data) -> Data? {
    var key = key
    if key.count > 64 {
      guard let short = MessageDigest.hash(.sha256, key) else { return nil }
      key = short
    }
    key += Data(count: 64 - key.count)
    guard let inner = MessageDigest.hash(.sha256, Data(key.map { $0 ^ 0x36 }) + Data(text.utf8)) else { return nil }
    return MessageDigest.hash(.sha256, Data(key.map { $0 ^ 0x5C }) + inner)
  }
}

// The canonical form of a request.
extension AWSSignature {
  /// The signed fields in lower case and in order, each with all its values. Spaces within a value count as one.
  private static func signedFields(_ fields: HTTPFields, host: String) -> [(name: String, value: String)] {
    var values = ["host": host]
    for (name, value) in fields where !unsigned.contains(name) {
      let value = value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
      let name = ASCII.lowercased(name.rawName)
      values[name] = values[name].map { "\($0),\(value)" } ?? value
    }
    return values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func canonical(path: String) -> String {
    guard !keepsPath else {
      let segments = path.split(separator: "/", omittingEmptySubsequences: false)
      return path.isEmpty ? "/" : segments.map { Self.encoded($0, keepsEncoding: true) }.joined(separator: "/")
    }
    var segments: [Substring] = []
    for segment in path.split(separator: "/") where segment != "." {
      if segment == ".." { _ = segments.popLast() } else { segments.append(segment) }
    }
    let isFolder = ["/", "/.", "/.."].contains { path.hasSuffix($0) }
    let text = segments.map { "/" + Self.encoded($0, keepsEncoding: false) }.joined()
    return text.isEmpty || isFolder ? text + "/" : text
  }

  /// The pairs of the query in the order of their encoded names and values. A `+` is a space.
  private static func canonical(query: String) -> String {
    let pairs = query.split(separator: "&").map { pair in
      let name = pair.prefix { $0 != "=" }
      let value = pair[name.endIndex...].dropFirst()
      return [name, value].map { encoded($0.replacing("+", with: "%20")[...], keepsEncoding: true) }
    }
    return pairs.sorted { ($0[0], $0[1]) < ($1[0], $1[1]) }.map { $0.joined(separator: "=") }.joined(separator: "&")
  }

  /// Encodes everything except unreserved characters (RFC 3986 §2.3).
  ///
  /// - Parameter keepsEncoding: whether a byte that is already encoded stays so; otherwise its `%` is encoded.
  private static func encoded(_ text: Substring, keepsEncoding: Bool) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while var byte = rest.popFirst() {
      if keepsEncoding, byte == UInt8(ascii: "%"), let value = PercentEncoding.hexadecimalPair(in: rest) {
        (byte, rest) = (value, rest.dropFirst(2))
      }
      if ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~".utf8.contains(byte) {
        bytes.append(byte)
      } else {
        PercentEncoding.append(byte, to: &bytes)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
