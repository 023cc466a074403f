import MartletSemantics

/// The few values of ASN.1 of which keys consist, in DER (X.690).
enum DER {
  static func sequence(_ contents: Data...) -> Data { value(0x30, contents.reduce(Data(), +)) }

  static func octets(_ bytes: Data) -> Data { value(0x04, bytes) }

  static func bits(_ bytes: Data) -> Data { value(0x03, Data([0]) + bytes) }

  static func identifier(_ bytes: [UInt8]) -> Data { value(0x06, Data(bytes)) }

  /// A value with a tag of its context.
  static func tagged(_ number: UInt8, _ content: Data) -> Data { value(0xA0 | number, content) }

  /// A number that is not negative, from its bytes.
  static func integer(_ number: Data) -> Data {
    let significant = number.drop { $0 == 0 }
    let isNegative = (significant.first ?? 0) & 0x80 != 0
    return value(0x02, (significant.isEmpty || isNegative ? Data([0]) : Data()) + significant)
  }

  private static func value(_ tag: UInt8, _ content: Data) -> Data {
    var head = [tag]
    if content.count < 0x80 {
      head.append(UInt8(content.count))
    } else {
      let length = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0.drop { $0 == 0 }) }
      head.append(0x80 | UInt8(length.count))
      head += length
    }
    return Data(head) + content
  }

  /// Returns the integers with which a sequence begins, without zeros before them.
  static func integers(in sequence: Data) -> [Data] {
    var rest = sequence[...]
    guard rest.popFirst() == 0x30, length(&rest) != nil else { return [] }
    var integers: [Data] = []
    while rest.first == 0x02 {
      rest.removeFirst()
      guard let count = length(&rest), count <= rest.count else { return integers }
      integers.append(Data(rest.prefix(count).drop { $0 == 0 }))
      rest = rest.dropFirst(count)
    }
    return integers
  }

  private static func length(_ rest: inout Data) -> Int? {
    guard let first = rest.popFirst() else { return nil }
    guard first >= 0x80 else { return Int(first) }
    let count = Int(first & 0x7F)
    guard count <= 3, count <= rest.count else { return nil }
    let length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(count)
    return length
  }
}
