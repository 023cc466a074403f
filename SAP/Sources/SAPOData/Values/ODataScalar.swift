@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// The version of the protocol. Literals, dates, wrappers and methods differ.
public enum ODataVersion: Sendable, Hashable, CaseIterable {
  /// OData 2.0, as most services of SAP Gateway speak it.
  case v2
  /// OData 4.0 and 4.01, as RAP and CAP speak it.
  case v4
}

/// How values are written as JSON.
struct ODataFormat: Sendable, Hashable {
  var version: ODataVersion
  /// Whether V4's `Int64` and `Decimal` are strings (`IEEE754Compatible=true`), as they always are in V2.
  var quotesNumbers: Bool

  init(_ version: ODataVersion, quotesNumbers: Bool = true) {
    (self.version, self.quotesNumbers) = (version, quotesNumbers)
  }

  static let all = ODataVersion.allCases.flatMap { [ODataFormat($0), ODataFormat($0, quotesNumbers: false)] }
}

/// A type that is one primitive value of OData.
protocol ODataScalar {
  /// Reads the value in any form of V2 and V4; nil if it has none of them, or does not fit without loss.
  static func reading(_ json: ODataJSON) -> Self?
  func json(_ format: ODataFormat) -> ODataJSON
}

extension ODataJSON {
  /// The text of a number as JSON has it, without a plus sign and zeros before it: `+1.5` and `0012.30` are numbers of
  /// OData's grammar (4.01 ABNF, `decimalValue`). nil for anything else.
  fileprivate var numberText: String? {
    guard let text else { return nil }
    let isNegative = text.hasPrefix("-")
    let digits = isNegative || text.hasPrefix("+") ? text.dropFirst() : text[...]
    let short = digits.drop { $0 == "0" }
    let number = (isNegative ? "-" : "") + (short.first?.isNumber == true ? short : "0" + short)
    guard digits.first?.isNumber == true, JSONSyntax.fault(in: number.utf8) == nil else { return nil }
    return number
  }
}

extension ODataScalar where Self: FixedWidthInteger {
  static func reading(_ json: ODataJSON) -> Self? {
    guard let text = json.numberText else { return nil }
    if let number = Self(text) { return number }
    // 7.0 is a whole number, too
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 2 && parts[1].allSatisfy { $0 == "0" } ? Self(parts[0]) : nil
  }

  func json(_ format: ODataFormat) -> ODataJSON { .number("\(self)") }
}

extension ODataScalar {
  /// A number that V2 always, and V4 on request, writes as a string.
  fileprivate func json(_ digits: String, _ format: ODataFormat) -> ODataJSON {
    format.version == .v2 || format.quotesNumbers ? .string(digits) : .number(digits)
  }
}

extension Int: ODataScalar {}
extension Int8: ODataScalar {}
extension Int16: ODataScalar {}
extension Int32: ODataScalar {}
extension UInt: ODataScalar {}
extension UInt8: ODataScalar {}
extension UInt16: ODataScalar {}
extension UInt32: ODataScalar {}
extension UInt64: ODataScalar {}

/// `Edm.Int64`, unlike `Int`, which stands for the shorter ones.
extension Int64: ODataScalar {
  func json(_ format: ODataFormat) -> ODataJSON { json("\(self)", format) }
}

extension Decimal: ODataScalar {
  /// The number of significant digits that a `Decimal` holds in any case.
  static let digits = 38

  static func reading(_ json: ODataJSON) -> Decimal? {
    guard let text = json.numberText else { return nil }
    let significant = text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
    return significant.count <= digits ? Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) : nil
  }

  func json(_ format: ODataFormat) -> ODataJSON { json("\(self)", format) }
}

extension Double: ODataScalar {
  static func reading(_ json: ODataJSON) -> Double? {
    switch json.text {
    case "INF"?, "Infinity"?: .infinity
    case "-INF"?, "-Infinity"?: -.infinity
    case "NaN"?: .nan
    default: json.numberText.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }
  }

  /// OData's text of the number.
  var odataText: String { isNaN ? "NaN" : isInfinite ? (self < 0 ? "-INF" : "INF") : "\(self)" }

  func json(_ format: ODataFormat) -> ODataJSON {
    isFinite && format.version == .v4 ? .number(odataText) : .string(odataText)
  }
}

extension Float: ODataScalar {
  static func reading(_ json: ODataJSON) -> Float? { Double.reading(json).map { Float($0) } }
  func json(_ format: ODataFormat) -> ODataJSON {
    isFinite ? (format.version == .v4 ? .number("\(self)") : .string("\(self)")) : Double(self).json(format)
  }
}

extension Bool: ODataScalar {
  static func reading(_ json: ODataJSON) -> Bool? { if case .bool(let value) = json { value } else { nil } }
  func json(_ format: ODataFormat) -> ODataJSON { .bool(self) }
}

extension ODataJSON: ODataScalar {
  static func reading(_ json: ODataJSON) -> ODataJSON? { json }
  func json(_ format: ODataFormat) -> ODataJSON { self }
}

extension String: ODataScalar {
  /// A number is read as its digits: a text takes decimals of any length.
  static func reading(_ json: ODataJSON) -> String? { json.text }
  func json(_ format: ODataFormat) -> ODataJSON { .string(self) }
}

extension UUID: ODataScalar {
  static func reading(_ json: ODataJSON) -> UUID? { json.text.flatMap { UUID(uuidString: $0) } }
  func json(_ format: ODataFormat) -> ODataJSON { .string(uuidString.lowercased()) }
}

extension URL: ODataScalar {
  static func reading(_ json: ODataJSON) -> URL? { json.text.flatMap { URL(text: $0) } }
  func json(_ format: ODataFormat) -> ODataJSON { .string(absoluteString) }
}

/// `Edm.Binary`: base64 in V2, base64url in V4. Both are read.
extension Data: ODataScalar {
  static func reading(_ json: ODataJSON) -> Data? {
    guard let text = json.text else { return nil }
    let plain = text.filter { $0 != "=" }.replacing("-", with: "+").replacing("_", with: "/")
    return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4))
  }

  /// Base64url without padding (RFC 4648 §5).
  var base64URL: String {
    base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").filter { $0 != "=" }
  }

  func json(_ format: ODataFormat) -> ODataJSON {
    .string(format.version == .v4 ? base64URL : base64EncodedString())
  }
}

extension Date: ODataScalar {
  static func reading(_ json: ODataJSON) -> Date? { ODataDateTimeOffset.reading(json)?.date }
  func json(_ format: ODataFormat) -> ODataJSON {
    .string(format.version == .v2 ? ODataTimeText.ticks(self) : ODataTimeText.dateTime(self) + "Z")
  }
}

extension Duration: ODataScalar {
  static func reading(_ json: ODataJSON) -> Duration? { json.text.flatMap(ODataTimeText.readDuration) }
  func json(_ format: ODataFormat) -> ODataJSON { .string(ODataTimeText.duration(self)) }
}

extension ODataDay: ODataScalar {
  static func reading(_ json: ODataJSON) -> ODataDay? { Date.reading(json).map { ODataDay($0) } }
  func json(_ format: ODataFormat) -> ODataJSON {
    format.version == .v2 ? date.json(format) : .string(ODataTimeText.day(self))
  }
}

extension ODataTime: ODataScalar {
  static func reading(_ json: ODataJSON) -> ODataTime? {
    Duration.reading(json).flatMap { ODataTime(sinceMidnight: $0) }
  }

  func json(_ format: ODataFormat) -> ODataJSON {
    .string(
      format.version == .v2 ? ODataTimeText.duration(sinceMidnight) : ODataTimeText.timeOfDay(sinceMidnight))
  }
}

extension ODataDateTimeOffset: ODataScalar {
  static func reading(_ json: ODataJSON) -> Self? {
    if case .string(let text) = json { ODataTimeText.readDate(text) } else { nil }
  }

  func json(_ format: ODataFormat) -> ODataJSON {
    if format.version == .v2 { return .string(ODataTimeText.ticks(date, offset: offset)) }
    let local = date.addingTimeInterval(Double(ODataTimeText.clampedOffset(offset)) * 60)
    return .string(ODataTimeText.dateTime(local) + ODataTimeText.zone(offset))
  }
}

// Our own types are also Codable for other coders, such as JSONEncoder, with V4's texts.
extension ODataScalar {
  fileprivate init(text decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Self.reading(.string(try container.decode(String.self))) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no \(Self.self)")
    }
    self = value
  }

  fileprivate func encodeText(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(json(ODataFormat(.v4)).text ?? "")
  }
}

extension ODataDay: Codable {
  public init(from decoder: any Decoder) throws { try self.init(text: decoder) }
  public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension ODataTime: Codable {
  public init(from decoder: any Decoder) throws { try self.init(text: decoder) }
  public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension ODataDateTimeOffset: Codable {
  public init(from decoder: any Decoder) throws { try self.init(text: decoder) }
  public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}
