@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// A typed value in a key, a filter, or the parameters of a function. It is written as the service's version requires:
/// quotes are doubled, and a GUID is `guid'…'` in V2 and bare in V4.
///
/// ```swift
/// let key: ODataLiteral = "O'Neil"                       // 'O''Neil'
/// let limit = ODataLiteral.decimal(Decimal(19) / 10)     // V2: 1.9M   V4: 1.9
/// ```
///
/// Text, whole numbers and Booleans can be written as Swift's literals.
public struct ODataLiteral: Sendable, Hashable {
  /// The literal in a URL, before it is percent-encoded (OData 4.01 ABNF; V2: URI Conventions, primitive types).
  private let v2: String
  private let v4: String
  /// The value in a body, by format.
  private let bodies: [ODataFormat: ODataJSON]

  private init(v2: String, v4: String, _ value: some ODataScalar) {
    (self.v2, self.v4) = (v2, v4)
    bodies = Dictionary(uniqueKeysWithValues: ODataFormat.all.map { ($0, value.json($0)) })
  }

  private init(_ text: String, _ value: some ODataScalar) { self.init(v2: text, v4: text, value) }

  func text(_ version: ODataVersion) -> String { version == .v2 ? v2 : v4 }

  private static func quoted(_ text: String) -> String { "'" + text.replacingScalar("'", with: "''") + "'" }

  /// null.
  public static let null = ODataLiteral("null", ODataJSON.null)
  /// A Boolean.
  public static func bool(_ value: Bool) -> Self { Self("\(value)", value) }
  /// `Edm.Int32` or a shorter number.
  public static func int(_ number: Int) -> Self { Self("\(number)", number) }
  /// `Edm.Int64`: `1L` in V2.
  public static func int64(_ number: Int64) -> Self { Self(v2: "\(number)L", v4: "\(number)", number) }
  /// `Edm.Decimal`: `1.5M` in V2.
  public static func decimal(_ number: Decimal) -> Self { Self(v2: "\(number)M", v4: "\(number)", number) }
  /// `Edm.Double`: `1.5d` in V2.
  public static func double(_ number: Double) -> Self {
    Self(v2: number.odataText + (number.isFinite ? "d" : ""), v4: number.odataText, number)
  }
  /// `Edm.String`.
  public static func string(_ text: String) -> Self { Self(quoted(text), text) }
  /// `Edm.Guid`: `guid'…'` in V2.
  public static func guid(_ id: UUID) -> Self {
    let text = id.uuidString.lowercased()
    return Self(v2: "guid'\(text)'", v4: text, id)
  }
  /// V2's `Edm.DateTime` (`datetime'…'`, in UTC); in V4 a point in time in UTC.
  public static func dateTime(_ date: Date) -> Self {
    let text = ODataTimeText.dateTime(date)
    return Self(v2: "datetime'\(text)'", v4: text + "Z", date)
  }
  /// `Edm.DateTimeOffset`: `datetimeoffset'…'` in V2.
  public static func dateTimeOffset(_ date: ODataDateTimeOffset) -> Self {
    let text = date.json(ODataFormat(.v4)).text ?? ""
    return Self(v2: "datetimeoffset'\(text)'", v4: text, date)
  }
  /// `Edm.Date` in V4; midnight as `Edm.DateTime` in V2.
  public static func day(_ day: ODataDay) -> Self {
    let text = ODataTimeText.day(day)
    return Self(v2: "datetime'\(text)T00:00:00'", v4: text, day)
  }
  /// `Edm.TimeOfDay` in V4, `Edm.Time` in V2.
  public static func time(_ time: ODataTime) -> Self {
    let since = time.sinceMidnight
    return Self(v2: "time'\(ODataTimeText.duration(since))'", v4: ODataTimeText.timeOfDay(since), time)
  }
  /// `Edm.Duration` in V4, `Edm.Time` in V2.
  public static func duration(_ duration: Duration) -> Self {
    let text = ODataTimeText.duration(duration)
    return Self(v2: "time'\(text)'", v4: "duration'\(text)'", duration)
  }
  /// `Edm.Binary`.
  public static func binary(_ data: Data) -> Self {
    Self(v2: "binary'\(data.hexadecimal.uppercased())'", v4: "binary'\(data.base64URL)'", data)
  }
  /// A member of an enumeration of V4: `Shop.Color'Red'`.
  public static func member(_ name: String, of type: String) -> Self { Self(type + quoted(name), name) }
  /// A literal as it is, before it is percent-encoded. For what the other forms do not have; never for a user's input.
  public static func raw(_ text: String) -> Self { Self(text, text) }
}

extension ODataLiteral: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
  /// A text.
  public init(stringLiteral text: String) { self = .string(text) }
  /// A whole number, `Edm.Int32`.
  public init(integerLiteral number: Int) { self = .int(number) }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// As a value of a body, a literal is its JSON: `["Note": .null, "Price": .decimal(price)]` is a partial update.
extension ODataLiteral: Encodable, ODataScalar {
  static func reading(_ json: ODataJSON) -> ODataLiteral? { nil }

  func json(_ format: ODataFormat) -> ODataJSON { bodies[format] ?? .null }

  /// Writes the text of V4's JSON, for other coders than this module's.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if self == .null { try container.encodeNil() } else { try container.encode(json(ODataFormat(.v4)).text ?? v4) }
  }
}
