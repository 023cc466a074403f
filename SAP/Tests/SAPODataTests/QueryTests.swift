import Foundation
import Testing

@testable import SAPOData

@Suite("OData queries and URLs")
struct QueryTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let query: ODataQuery
    let v2: String?
    let v4: String
  }

  static let name = ODataProperty("Name")
  static let price = ODataProperty("Price")

  static let cases: [Case] = [
    Case(testDescription: "nothing", query: ODataQuery(), v2: "", v4: ""),
    Case(
      testDescription: "a filter with a quote", query: ODataQuery().filter(name == "O'Neil & Co"),
      v2: "$filter=Name eq 'O''Neil & Co'", v4: "$filter=Name eq 'O''Neil & Co'"),
    Case(
      testDescription: "two filters", query: ODataQuery().filter(price >= .decimal(1.5)).filter(!(name != "x")),
      v2: "$filter=(Price ge 1.5M and not (Name ne 'x'))", v4: "$filter=(Price ge 1.5 and not (Name ne 'x'))"),
    Case(
      testDescription: "precedence", query: ODataQuery().filter((price < 1 || price > 9) && name.hasPrefix("a")),
      v2: "$filter=((Price lt 1 or Price gt 9) and startswith(Name,'a'))",
      v4: "$filter=((Price lt 1 or Price gt 9) and startswith(Name,'a'))"),
    Case(
      testDescription: "contains", query: ODataQuery().filter(name.contains("it's") || name.hasSuffix("z")),
      v2: "$filter=(substringof('it''s',Name) or endswith(Name,'z'))",
      v4: "$filter=(contains(Name,'it''s') or endswith(Name,'z'))"),
    Case(
      testDescription: "one of some", query: ODataQuery().filter(price.isIn([1, 2])),
      v2: "$filter=(Price eq 1 or Price eq 2)", v4: "$filter=(Price eq 1 or Price eq 2)"),
    Case(
      testDescription: "one of none", query: ODataQuery().filter(price.isIn([])), v2: "$filter=1 eq 0",
      v4: "$filter=1 eq 0"),
    Case(
      testDescription: "any", query: ODataQuery().filter(ODataProperty("Items").any { $0["Price"] > 5 }), v2: nil,
      v4: "$filter=Items/any(x:x/Price gt 5)"),
    Case(
      testDescription: "any within any",
      query: ODataQuery().filter(
        ODataProperty("Items").any { item in item["Parts"].any { part in part["No"] == 1 && item["No"] == 2 } }),
      v2: nil, v4: "$filter=Items/any(x:x/Parts/any(x1:(x1/No eq 1 and x/No eq 2)))"),
    Case(
      testDescription: "a condition as text", query: ODataQuery().filter(.raw("A eq 1 or B eq 2")).filter(name == "x"),
      v2: "$filter=((A eq 1 or B eq 2) and Name eq 'x')", v4: "$filter=((A eq 1 or B eq 2) and Name eq 'x')"),
    Case(
      testDescription: "order, selection, paging",
      query: ODataQuery().orderBy(.descending("At"), .ascending("ID")).select("ID", "City/Name").top(5).skip(10)
        .withCount(),
      v2: "$orderby=At desc,ID&$select=ID,City/Name&$top=5&$skip=10&$inlinecount=allpages",
      v4: "$orderby=At desc,ID&$select=ID,City/Name&$top=5&$skip=10&$count=true"),
    Case(
      testDescription: "search and an option of the service",
      query: ODataQuery().search("green tea").custom("x-y", "a&b"),
      v2: "search=green tea&x-y=a&b", v4: "$search=green tea&x-y=a&b"),
    Case(
      testDescription: "a search for words", query: ODataQuery().search("grün 茶 2"), v2: "search=grün 茶 2",
      v4: "$search=grün 茶 2"),
    Case(
      testDescription: "a search for a phrase", query: ODataQuery().search(#"50% "best"\"#), v2: #"search=50% "best"\"#,
      v4: #"$search="50% \"best\"\\""#),
    Case(
      testDescription: "a search with marks that combine", query: ODataQuery().search("\u{111C2};\"\u{301}"),
      v2: "search=\u{111C2};\"\u{301}", v4: "$search=\"\u{111C2};\\\"\u{301}\""),
    Case(
      testDescription: "an option that has a method, with another value",
      query: ODataQuery().custom("$inlinecount", "none").custom("$count", "false"),
      v2: "$inlinecount=none&$count=false", v4: "$inlinecount=none&$count=false"),
    Case(
      testDescription: "a plain expansion", query: ODataQuery().expand("Items", "Customer/City"),
      v2: "$expand=Items,Customer/City", v4: "$expand=Items,Customer/City"),
    Case(
      testDescription: "an expansion with a selection",
      query: ODataQuery().expand(ODataExpansion("Items", ODataQuery().select("Name"))),
      v2: "$select=*,Items/Name&$expand=Items", v4: "$expand=Items($select=Name)"),
    Case(
      testDescription: "a selection with a plain expansion", query: ODataQuery().select("ID").expand("Items"),
      v2: "$select=ID,Items&$expand=Items", v4: "$select=ID&$expand=Items"),
    Case(
      testDescription: "a selection that names the expansion",
      query: ODataQuery().select("Items/Name", "Customer").expand("Items", "Customer"),
      v2: "$select=Items/Name,Customer&$expand=Items,Customer",
      v4: "$select=Items/Name,Customer&$expand=Items,Customer"),
    Case(
      testDescription: "an expansion with a selection and a plain one",
      query: ODataQuery().expand(ODataExpansion("Items", ODataQuery().select("Name")), "Customer"),
      v2: "$select=*,Items/Name,Customer&$expand=Items,Customer", v4: "$expand=Items($select=Name),Customer"),
    Case(
      testDescription: "an expansion with a query",
      query: ODataQuery().expand(ODataExpansion("Items", ODataQuery().filter(name == "a;b").top(2))), v2: nil,
      v4: "$expand=Items($filter=Name eq 'a;b';$top=2)"),
    Case(
      testDescription: "a search within an expansion",
      query: ODataQuery().expand(ODataExpansion("Items", ODataQuery().search("a),Secret;$top=1").skip(2))), v2: nil,
      v4: #"$expand=Items($search="a),Secret;$top=1";$skip=2)"#),
    Case(
      testDescription: "an option of the service within an expansion",
      query: ODataQuery().expand(ODataExpansion("Items", ODataQuery().custom("$levels", "2"))), v2: nil,
      v4: "$expand=Items($levels=2)"),
  ]

  @Test("A query has the options of its version", arguments: cases)
  func queryHasTheOptionsOfItsVersion(row: Case) throws {
    #expect(try decoded(row.query, .v4) == row.v4)
    if let v2 = row.v2 {
      #expect(try decoded(row.query, .v2) == v2)
    } else {
      let error = #expect(throws: ODataError.self) { try row.query.encoded(.v2) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  private func decoded(_ query: ODataQuery, _ version: ODataVersion) throws -> String {
    try query.encoded(version).map { $0.removingPercentEncoding ?? "" }.joined(separator: "&")
  }

  @Test func valuesCannotEndAnOption() throws {
    let query = ODataQuery().filter(Self.name == "a&$top=1#+%20")

    #expect(try query.encoded(.v2) == ["$filter=Name%20eq%20'a%26%24top%3D1%23%2B%2520'"])
  }

  @Test(
    "A custom option cannot end that of an expansion", arguments: ["a;$top=1", "a),Secret", "(a", "O'Neil", "a\"b"])
  func customOptionCannotEndThatOfAnExpansion(text: String) {
    for inner in [ODataQuery().custom("x", text), ODataQuery().custom(text, "x")] {
      let query = ODataQuery().expand(ODataExpansion("Items", inner))

      let error = #expect(throws: ODataError.self) { try query.encoded(.v4) }

      #expect(error?.kind == .invalidRequest)
    }
  }

  @Test(
    "A path is encoded for its version",
    arguments: [
      ("Orders", "Orders", "Orders"), (ODataPath("Orders").key(42), "Orders(42)", "Orders(42)"),
      (ODataPath("Names").key("it's a/b"), "Names('it''s%20a%2Fb')", "Names('it''s%20a%2Fb')"),
      (
        ODataPath("Items").key(["Order": .int64(4), "No": "7"]).appending("Product"), "Items(Order=4L,No='7')/Product",
        "Items(Order=4,No='7')/Product"
      ),
      (ODataPath("Images").key(1).appending("$value"), "Images(1)/$value", "Images(1)/$value"),
      (ODataPath("Fn").key([:]), "Fn()", "Fn()"), (ODataPath.root.appending("Shop.Act"), "Shop.Act", "Shop.Act"),
      (ODataPath("Odd name?/#"), "Odd%20name%3F%2F%23", "Odd%20name%3F%2F%23"),
    ] as [(ODataPath, String, String)])
  func pathIsEncodedForItsVersion(path: ODataPath, v2: String, v4: String) throws {
    #expect(try path.text(.v2) == v2)
    #expect(try path.text(.v4) == v4)
  }

  @Test(
    "A root works with and without slash and query",
    arguments: [
      ("http://h/s", "http://h/s/A?$top=1"), ("http://h/s/", "http://h/s/A?$top=1"),
      ("https://h", "https://h/A?$top=1"),
      ("http://h/s?sap-client=100", "http://h/s/A?sap-client=100&$top=1"),
      ("http://h:8/s/?a=1&b=2#f", "http://h:8/s/A?a=1&b=2&$top=1"), ("http://h/a%20b/?", "http://h/a%20b/A?$top=1"),
    ])
  func rootWorksWithAndWithoutSlashAndQuery(root: String, url: String) throws {
    let root = try ODataRoot(#require(URL(string: root)))

    #expect(try root.url("A", ["$top=1"], .v2).absoluteString == url)
  }

  @Test func keyFollowsALinkWithoutASlash() throws {
    let root = try ODataRoot(#require(URL(string: "http://h/s")))
    let orders = ODataPath(ODataLink(rawValue: "Orders"))

    #expect(try root.url(orders.key(42).appending("Items"), [], .v2).absoluteString == "http://h/s/Orders(42)/Items")
    #expect(try root.url(orders, ["$top=1"], .v4).absoluteString == "http://h/s/Orders?$top=1")
  }

  @Test("A root that is no web address is refused", arguments: ["file:///s", "ftp://h/s", "s"])
  func rootThatIsNoWebAddressIsRefused(root: String) throws {
    let url = try #require(URL(string: root))

    #expect(throws: ODataError.self) { try ODataRoot(url) }
  }

  @Test(
    "A link is resolved, on the same origin only",
    arguments: [
      ("Orders?$skiptoken=2", "http://h/s/Orders?$skiptoken=2&sap-client=100"),
      ("http://h/s/Orders?$skiptoken=2", "http://h/s/Orders?$skiptoken=2&sap-client=100"),
      ("http://H:80/s/Orders?sap-client=100", "http://H:80/s/Orders?sap-client=100"),
      ("/s/Orders", "http://h/s/Orders?sap-client=100"), ("https://h/s/Orders", nil), ("//evil/s", nil),
      ("http://h:81/s/Orders", nil), ("http://h@evil/s", nil),
    ])
  func linkIsResolvedOnTheSameOriginOnly(link: String, url: String?) throws {
    let root = try ODataRoot(#require(URL(string: "http://h/s?sap-client=100")))

    if let url {
      #expect(try root.url(ODataLink(rawValue: link)).absoluteString == url)
      let path = ODataPath(ODataLink(rawValue: link)).appending("Items")
      #expect(try root.url(path, [], .v4).absoluteString.contains("/Orders/Items?"))
    } else {
      let error = #expect(throws: ODataError.self) { try root.url(ODataLink(rawValue: link)) }
      #expect(error?.kind == .foreignLink)
    }
  }
}
