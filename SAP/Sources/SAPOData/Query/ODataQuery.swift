@_spi(Toolkit) import MartletSemantics

/// The options for reading an entity set or an entity. Each method returns a copy with one more option.
///
/// ```swift
/// let query = ODataQuery()
///   .filter(ODataProperty("Status") == "open")
///   .orderBy(.descending("CreatedAt"))
///   .select("ID", "Status")
///   .expand(ODataExpansion("Items", ODataQuery().select("Name").top(5)))
///   .top(20)
/// ```
public struct ODataQuery: Sendable {
  private var condition: ODataFilter?
  private var orders: [ODataOrder] = []
  private var properties: [String] = []
  private var expansions: [ODataExpansion] = []
  private var others: [(v2: Option, v4: Option, isCustom: Bool)] = []
  private(set) var tracksChanges = false
  private(set) var pageSize: Int?

  /// An option before it is encoded.
  private typealias Option = (name: String, value: String)

  /// Makes a query for everything.
  public init() {}

  private func changed(_ change: (inout ODataQuery) -> Void) -> ODataQuery {
    var copy = self
    change(&copy)
    return copy
  }

  private func adding(_ option: Option, inV2 other: Option? = nil, isCustom: Bool = false) -> ODataQuery {
    changed { $0.others.append((other ?? option, option, isCustom)) }
  }

  /// Only the entities that fulfil the condition and the conditions of earlier calls.
  public func filter(_ filter: ODataFilter) -> ODataQuery {
    changed { $0.condition = $0.condition.map { $0 && filter } ?? filter }
  }

  /// In this order, after the orders of earlier calls.
  public func orderBy(_ orders: ODataOrder...) -> ODataQuery { changed { $0.orders += orders } }
  /// Only these properties: `Name`, `Address/City`.
  public func select(_ properties: String...) -> ODataQuery { changed { $0.properties += properties } }
  /// With these related entities.
  public func expand(_ expansions: ODataExpansion...) -> ODataQuery { changed { $0.expansions += expansions } }
  /// At most this many entities.
  public func top(_ count: Int) -> ODataQuery { adding(("$top", "\(count)")) }
  /// Without the first entities.
  public func skip(_ count: Int) -> ODataQuery { adding(("$skip", "\(count)")) }
  /// Entities that a text is found in: `$search` in V4, SAP's `search` in V2.
  ///
  /// In V4, letters, digits and spaces are words, all of which are to be found; `AND`, `OR` and `NOT` among them are
  /// operators. A text with any other character is searched as one phrase.
  public func search(_ text: String) -> ODataQuery {
    adding(("$search", Self.searchExpression(text)), inV2: ("search", text))
  }
  /// With the number of all entities, without regard to `top` and `skip`: ``ODataPage/count``.
  public func withCount() -> ODataQuery { adding(("$count", "true"), inV2: ("$inlinecount", "allpages")) }
  /// With an option of the service's own, which is percent-encoded: `custom("sap-language", "DE")`. Within an
  /// expansion, where the text could end the option, quotes, parentheses and semicolons are refused.
  public func custom(_ name: String, _ value: String) -> ODataQuery { adding((name, value), isCustom: true) }
  /// Asks for a link to later changes: ``ODataPage/deltaLink`` of the last page. Not every service has it.
  public func trackingChanges() -> ODataQuery { changed { $0.tracksChanges = true } }
  /// Asks for pages of this size (`Prefer: odata.maxpagesize`). The service may choose another one; most services of V2
  /// ignore the wish.
  public func pageSize(_ count: Int) -> ODataQuery { changed { $0.pageSize = count } }

  /// Returns the text as words or as a phrase (OData 4.01 URL Conventions §5.1.1.7). Scalars are compared, because a
  /// `Character` can combine a letter or a quote with others.
  private static func searchExpression(_ text: String) -> String {
    let isWords = text.unicodeScalars.allSatisfy { scalar in
      scalar == " " || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }
    guard !isWords else { return text }
    var phrase = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { phrase.unicodeScalars.append("\\") }
      phrase.unicodeScalars.append(scalar)
    }
    return phrase + "\""
  }

  /// The options, in the order in which they are sent.
  private func options(_ version: ODataVersion) throws(ODataError) -> [Option] {
    var options: [Option] = []
    if let condition { options.append(("$filter", try condition.text(version))) }
    if !orders.isEmpty { options.append(("$orderby", orders.map(\.text).joined(separator: ","))) }
    let selected = try version == .v2 ? selectionOfV2() : properties
    if !selected.isEmpty { options.append(("$select", selected.joined(separator: ","))) }
    if !expansions.isEmpty {
      var texts: [String] = []
      for expansion in expansions { texts.append(try expansion.text(version)) }
      options.append(("$expand", texts.joined(separator: ",")))
    }
    return options + others.map { version == .v2 ? $0.v2 : $0.v4 }
  }

  /// The properties in V2's `$select`, which also has the properties of the expansions; empty if nothing is selected
  /// anywhere.
  private func selectionOfV2() throws(ODataError) -> [String] {
    var inner: [String] = []
    var isSelective = !properties.isEmpty
    for expansion in expansions {
      let names = try expansion.selectionOfV2()
      if !names.isEmpty { isSelective = true }
      let isSelected = properties.contains { $0 == expansion.name || $0.hasPrefix(expansion.name + "/") }
      // V2 omits an expanded entity that `$select` does not name.
      inner += names.isEmpty && !isSelected ? [expansion.name] : names
    }
    guard isSelective else { return [] }
    return (properties.isEmpty ? ["*"] : properties) + inner
  }

  /// The encoded options, `name=value`.
  func encoded(_ version: ODataVersion) throws(ODataError) -> [String] {
    let encoding = PercentEncoding.queryComponent
    return try options(version).map { option in
      let name =
        option.name.hasPrefix("$") ? "$" + encoding.encode(option.name.dropFirst()) : encoding.encode(option.name)
      return name + "=" + encoding.encode(option.value)
    }
  }

  /// The options of V4 within the parentheses of an expansion.
  fileprivate func nested() throws(ODataError) -> String {
    for (_, option, isCustom) in others where isCustom {
      guard !(option.name + option.value).utf8.contains(where: { "'\"();".utf8.contains($0) }) else {
        throw ODataError(
          .invalidRequest,
          "the custom option '\(option.name)' within an expansion has a quote, a parenthesis or a semicolon, which "
            + "could end it: use another method of ODataQuery")
      }
    }
    return try options(.v4).map { "\($0.name)=\($0.value)" }.joined(separator: ";")
  }

  /// The selected properties, if there is nothing else: V2 has no other options of an expansion.
  fileprivate func onlySelection(of name: String) throws(ODataError) -> [String] {
    guard condition == nil, orders.isEmpty, expansions.isEmpty, others.isEmpty else {
      throw ODataError(
        .invalidRequest, "OData V2 can only select within the expansion '\(name)': read the entities by their own path")
    }
    return properties.map { "\(name)/\($0)" }
  }
}

extension ODataQuery: CustomReflectable {
  /// A mirror with the options as V4 sends them, without the values of options with secret names.
  public var customMirror: Mirror {
    let options = (try? encoded(.v4))?.joined(separator: "&") ?? "invalid in OData V4"
    return Mirror(self, children: ["options": Redaction.standard.redacted(reference: "?" + options)])
  }
}

/// An order of entities by a property.
public struct ODataOrder: Sendable, Hashable {
  fileprivate let text: String

  /// From the least value to the greatest.
  public static func ascending(_ property: String) -> ODataOrder { ODataOrder(text: property) }
  /// From the greatest value to the least.
  public static func descending(_ property: String) -> ODataOrder { ODataOrder(text: property + " desc") }
}

/// Related entities to read with an entity.
public struct ODataExpansion: Sendable, ExpressibleByStringLiteral {
  fileprivate let name: String
  private let query: ODataQuery?

  /// Makes an expansion of a navigation property, or of a path of several: `Items/Product`. In V2, the query can only
  /// select.
  public init(_ name: String, _ query: ODataQuery) { (self.name, self.query) = (name, query) }

  public init(stringLiteral name: String) { (self.name, query) = (name, nil) }

  fileprivate func text(_ version: ODataVersion) throws(ODataError) -> String {
    guard version == .v4, let inner = try query?.nested(), !inner.isEmpty else { return name }
    return "\(name)(\(inner))"
  }

  fileprivate func selectionOfV2() throws(ODataError) -> [String] { try query?.onlySelection(of: name) ?? [] }
}
