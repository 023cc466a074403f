/// Encodes `multipart/form-data` bodies (RFC 7578, RFC 2046 §5.1, and the encoding algorithm of the HTML standard,
/// §4.10.21.8).
package enum MultipartSyntax {
  /// The maximum number of bytes of a boundary (RFC 2046 §5.1.1).
  static let boundaryLimit = 70

  /// Returns a boundary of hyphens, letters and digits, which needs no quotes in `Content-Type`.
  package static func boundary(random: () -> UInt64) -> String {
    let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    var bytes = Array("----martlet".utf8)
    for _ in 0..<3 {
      var number = random()
      for _ in 0..<10 {
        bytes.append(alphabet[Int(number % 62)])
        number /= 62
      }
    }
    return String(decoding: bytes.prefix(boundaryLimit), as: UTF8.self)
  }

  /// Whether the text can be a boundary (RFC 2046 §5.1.1).
  package static func isBoundary(_ text: String) -> Bool {
    let isAllowed = text.utf8.allSatisfy {
      ASCII.isLetter($0) || ASCII.isDigit($0) || "'()+_,-./:=? ".utf8.contains($0)
    }
    return isAllowed && (1...boundaryLimit).contains(text.utf8.count) && !text.hasSuffix(" ")
  }

  /// Whether the boundary does not occur in the data.
  package static func isFree(_ boundary: String, in data: Data) -> Bool {
    let needle = Array(boundary.utf8)
    return data.withUnsafeBytes { bytes in
      guard let first = needle.first, bytes.count >= needle.count else { return true }
      return !(0...(bytes.count - needle.count)).contains { start in
        bytes[start] == first && bytes[start..<(start + needle.count)].elementsEqual(needle)
      }
    }
  }

  /// Returns the bytes before the content of a part: the delimiter, the fields of the part and the empty line.
  ///
  /// - Parameter isFirst: whether this is the first part. Its delimiter has no line break before it.
  package static func head(
    name: String, fileName: String?, contentType: MediaType?, boundary: String, isFirst: Bool
  ) -> Data {
    var text = (isFirst ? "--" : "\r\n--") + boundary + "\r\n"
    text += "Content-Disposition: form-data; name=\"\(escaped(normalised(name)))\""
    if let fileName { text += "; filename=\"\(escaped(fileName))\"" }
    if let contentType { text += "\r\nContent-Type: \(contentType)" }
    return Data((text + "\r\n\r\n").utf8)
  }

  /// Returns the closing delimiter, which is the whole body of a form without parts.
  package static func end(boundary: String, isEmpty: Bool) -> Data {
    Data(((isEmpty ? "--" : "\r\n--") + boundary + "--\r\n").utf8)
  }

  /// Replaces a CR without LF and an LF without CR by CRLF. For names, not for file names.
  static func normalised(_ name: String) -> String {
    guard name.utf8.contains(where: { $0 == 13 || $0 == 10 }) else { return name }
    var bytes: [UInt8] = []
    var previous: UInt8 = 0
    for byte in name.utf8 {
      if byte == 13 {
        bytes += [13, 10]
      } else if byte != 10 || previous != 13 {
        bytes += byte == 10 ? [13, 10] : [byte]
      }
      previous = byte
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes `"`, CR and LF. A percent sign is not escaped.
  static func escaped(_ name: String) -> String {
    var bytes: [UInt8] = []
    for byte in name.utf8 {
      switch byte {
      case 10, 13, UInt8(ascii: "\""): PercentEncoding.append(byte, to: &bytes)
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
