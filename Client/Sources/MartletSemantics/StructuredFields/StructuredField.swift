/// The values of structured fields (RFC 9651), which newer fields such as `Priority`, `Cache-Status`, `Repr-Digest` and
/// `Signature` have.
///
/// The definition of a field says which of three types it has: ``Item``, ``List`` or ``Dictionary``.
///
/// ```swift
/// let fields: HTTPFields = ["Priority": "u=1, i"]
/// let priority = try fields.structured("Priority", as: StructuredField.Dictionary.self)
/// priority?["u"]?.item?.value   // .integer(1)
/// priority?["i"]?.item?.value   // .boolean(true)
/// ```
///
/// A field that does not follow the grammar is refused as a whole, as the RFC requires (§4.2): ignore such a field, as
/// if it were absent, unless its definition says otherwise. Values that are made may contain anything; what the RFC
/// does not allow is an error when they are serialized.
public enum StructuredField {
  /// A value that an item, or a parameter of one, has (§3.3).
  public enum BareItem: Sendable, Hashable {
    /// An integer of at most 15 digits (§3.3.1).
    case integer(Int64)
    /// A number with at most 12 digits before the point and three after it (§3.3.2).
    case decimal(DecimalNumber)
    /// Printable ASCII characters (§3.3.3).
    case string(String)
    /// A word that begins with a letter or `*` (§3.3.4).
    case token(String)
    /// Bytes, which are sent in base64 (§3.3.5).
    case bytes(Data)
    /// `?1` or `?0` (§3.3.6).
    case boolean(Bool)
    /// The seconds since 1970 in UTC, without leap seconds (§3.3.7); at most 15 digits.
    case date(seconds: Int64)
    /// Unicode characters for people, sent as UTF-8 with percent-encoding (§3.3.8).
    case displayString(String)
  }

  /// A number with three digits after the point, as sent, so that no digit changes by rounding.
  public struct DecimalNumber: Sendable, Hashable {
    /// The number times 1000.
    public let thousandths: Int64

    /// Makes a number.
    ///
    /// - Parameter thousandths: the number times 1000.
    public init(thousandths: Int64) { self.thousandths = thousandths }

    /// Rounds a number to three digits after the point; a half goes to the even digit (§4.1.5). Nil if it has more than
    /// 12 digits before the point.
    public init?(_ number: Double) {
      let rounded = Self.rounded(number)
      guard abs(rounded) < 1e15 else { return nil }  // false for NaN, too
      thousandths = Int64(rounded)
    }

    /// The number as a binary floating-point number.
    public var doubleValue: Double { Double(thousandths) / 1000 }

    /// 0.0015 has no exact binary form: the nearest one times 1000 is a half only after it is rounded to a few digits.
    private static func rounded(_ number: Double) -> Double {
      let scaled = number * 1000
      let half = (scaled * 2).rounded() / 2
      return (abs(scaled - half) <= abs(scaled) * 1e-15 ? half : scaled).rounded(.toNearestOrEven)
    }
  }

  /// Keys and bare items in their order (§3.1.2). A key is unique: of two with the same name the last one counts, at
  /// the position of the first.
  public struct Parameters: Sendable, Hashable {
    var members = Members<BareItem>()

    /// Makes empty parameters.
    public init() {}

    /// The value of a key; nil if it is absent. Setting nil removes it. A key without a value is true.
    public subscript(key: String) -> BareItem? {
      get { members[key] }
      set { members[key] = newValue }
    }
  }

  /// A bare item with its parameters (§3.3).
  public struct Item: Sendable, Hashable {
    /// The value.
    public var value: BareItem
    /// The parameters.
    public var parameters: Parameters

    /// Makes an item.
    public init(_ value: BareItem, parameters: Parameters = [:]) {
      (self.value, self.parameters) = (value, parameters)
    }
  }

  /// Items in parentheses, which have parameters together (§3.1.1).
  public struct InnerList: Sendable, Hashable {
    /// The items; there may be none.
    public var items: [Item]
    /// The parameters of the inner list.
    public var parameters: Parameters

    /// Makes an inner list.
    public init(_ items: [Item], parameters: Parameters = [:]) {
      (self.items, self.parameters) = (items, parameters)
    }
  }

  /// A member of a list or a dictionary.
  public enum Member: Sendable, Hashable {
    /// An item.
    case item(Item)
    /// Items in parentheses.
    case innerList(InnerList)

    /// The item; nil if it is an inner list.
    public var item: Item? { if case .item(let item) = self { item } else { nil } }

    /// The inner list; nil if it is an item.
    public var innerList: InnerList? { if case .innerList(let list) = self { list } else { nil } }

    /// The parameters of the item or of the inner list.
    public var parameters: Parameters {
      switch self {
      case .item(let item): item.parameters
      case .innerList(let list): list.parameters
      }
    }
  }

  /// Members in their order (§3.1). An empty list is not sent.
  public struct List: Sendable, Hashable {
    /// The members.
    public var members: [Member]

    /// Makes a list.
    public init(_ members: [Member] = []) { self.members = members }
  }

  /// Keys and members in their order (§3.2). An empty dictionary is not sent. A key is unique: of two with the same
  /// name the last one counts, at the position of the first.
  public struct Dictionary: Sendable, Hashable {
    var members = Members<Member>()

    /// Makes an empty dictionary.
    public init() {}

    /// The member of a key; nil if it is absent. Setting nil removes it.
    public subscript(key: String) -> Member? {
      get { members[key] }
      set { members[key] = newValue }
    }
  }

  /// Why a text is no structured field, or a value cannot be one.
  public struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem and its place. It contains a key at most, but no value: values may be secrets.
    public let description: String
  }
}

/// The type of a structured field: ``StructuredField/Item``, ``StructuredField/List`` or
/// ``StructuredField/Dictionary``.
public protocol StructuredFieldValue: Sendable {
  /// Parses the value of a field (RFC 9651 §4.2); several lines are joined with a comma.
  init(parsing text: String) throws(StructuredField.SyntaxError)

  /// Returns the value as it is sent (RFC 9651 §4.1), in its canonical form. That of an empty list or dictionary is
  /// empty: leave out the field.
  func serialized() throws(StructuredField.SyntaxError) -> String
}

extension HTTPFields {
  /// Returns the value of a structured field (RFC 9651 §4.2); nil if it is absent. Its lines are joined.
  ///
  /// - Throws: ``StructuredField/SyntaxError`` if the field does not follow the grammar: ignore it then, unless its
  ///   definition says otherwise.
  public func structured<Value: StructuredFieldValue>(
    _ name: FieldName, as type: Value.Type
  ) throws(StructuredField.SyntaxError) -> Value? {
    let lines = self[values: name]
    return lines.isEmpty ? nil : try Value(parsing: lines.joined(separator: ", "))
  }
}
