import Synchronization

/// The fields of a received message as raw bytes, with the positions of names and values. Most fields of a response are
/// never read: names and values become strings on access.
///
/// Every value is plain: visible ASCII characters and spaces, without white space around it.
final class ReceivedFields: Sendable {
  private let bytes: ArraySlice<UInt8>
  private let places: [Place]
  /// The bits of all names. Most lookups miss, and the bits answer them without a search.
  private let bits: UInt64
  private let made = Mutex<[HTTPFields.Line]?>(nil)

  /// The position of a field in the bytes.
  struct Place: Sendable {
    let name: Range<Int>
    let value: Range<Int>
  }

  init(_ bytes: ArraySlice<UInt8>, _ places: [Place]) {
    self.bytes = bytes
    self.places = places
    bits = bytes.withUnsafeBytes { bytes in
      places.reduce(0) { bits, place in
        guard let first = bytes[place.name].first else { return bits }
        return bits | FieldName.bit(of: place.name.count, ASCII.lowercased(first))
      }
    }
  }

  /// The number of lines.
  var count: Int { places.count }

  /// All lines, made once.
  var lines: [HTTPFields.Line] {
    made.withLock { made in
      if let made { return made }
      let lines = bytes.withUnsafeBytes { bytes in
        places.map { place in
          HTTPFields.Line(
            name: CommonNames.name(of: .init(rebasing: bytes[place.name])), value: Self.text(bytes, place))
        }
      }
      made = lines
      return lines
    }
  }

  func contains(_ name: FieldName) -> Bool {
    var isContained = false
    forEach(name) { _, _ in
      isContained = true
      return false
    }
    return isContained
  }

  /// The value of a field, joined from all its lines; nil if it is absent.
  func value(of name: FieldName, separator: String) -> String? {
    var joined: String?
    forEach(name) { bytes, place in
      let text = Self.text(bytes, place)
      joined = joined.map { $0 + separator + text } ?? text
      return true
    }
    return joined
  }

  /// The values of all lines with that name, in order.
  func values(of name: FieldName) -> [String] {
    var values: [String] = []
    forEach(name) { bytes, place in
      values.append(Self.text(bytes, place))
      return true
    }
    return values
  }

  /// Calls the closure with each line of that name while it returns true.
  private func forEach(_ name: FieldName, _ body: (UnsafeRawBufferPointer, Place) -> Bool) {
    guard bits & name.bit != 0 else { return }
    var name = name.canonicalName
    name.withUTF8 { name in
      bytes.withUnsafeBytes { bytes in
        for place in places where place.name.count == name.count && Self.isEqual(bytes, place.name, name) {
          guard body(bytes, place) else { return }
        }
      }
    }
  }

  private static func isEqual(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ lowercased: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    for index in 0..<lowercased.count where ASCII.lowercased(bytes[range.lowerBound + index]) != lowercased[index] {
      return false
    }
    return true
  }

  private static func text(_ bytes: UnsafeRawBufferPointer, _ place: Place) -> String {
    String(decoding: UnsafeRawBufferPointer(rebasing: bytes[place.value]).bindMemory(to: UInt8.self), as: UTF8.self)
  }
}
