import Foundation
import SAPFoundation
import Testing

@Suite("The URLs of media")
struct MediaURLTests {
  private let settings: SAPcpmsSettingsParameters

  init() throws {
    let url = try #require(URL(string: "https://mobile.example.com/"))
    settings = SAPcpmsSettingsParameters(
      backendURL: url, applicationID: "app", destinations: ["images": "/sap/opu/odata/IMG_SRV/"])
  }

  @Test(arguments: [
    ("coffee", "Images('coffee')/$value"), ("it's", "Images('it''s')/$value"), ("a/b", "Images('a%2Fb')/$value"),
    ("50% off?", "Images('50%25%20off%3F')/$value"), ("grün#1", "Images('gr%C3%BCn%231')/$value"),
    ("", "Images('')/$value"), ("a+b&c=d", "Images('a+b&c=d')/$value"), ("..", "Images('..')/$value"),
  ])
  func aTextIsQuotedAndEncoded(_ key: String, _ expected: String) {
    let url = settings.url(destination: "images").odataMedia("Images", ODataKey(key))
    #expect(url.absoluteString == "https://mobile.example.com/sap/opu/odata/IMG_SRV/" + expected)
  }

  @Test func everyKindOfKeyHasItsForm() throws {
    let id = try #require(UUID(uuidString: "0A1B2C3D-0000-1111-2222-333344445555"))
    let keys: [(ODataKey, String)] = [
      (42, "S(42)"), (ODataKey(-7), "S(-7)"), ("text", "S('text')"),
      (["Order": 42, "Item": "7"], "S(Order=42,Item='7')"),
      (ODataKey(id), "S(0a1b2c3d-0000-1111-2222-333344445555)"),
      (ODataKey(id, isVersion2: true), "S(guid'0a1b2c3d-0000-1111-2222-333344445555')"),
      (ODataKey(literal: "datetime'2020-01-01T00:00:00'"), "S(datetime'2020-01-01T00:00:00')"),
    ]
    for (key, expected) in keys {
      #expect(settings.backendURL.odataEntity("S", key).absoluteString == "https://mobile.example.com/" + expected)
    }
  }

  @Test(arguments: [
    ("https://h/s", "https://h/s/S('a')/$value"), ("https://h/s/", "https://h/s/S('a')/$value"),
    ("https://h", "https://h/S('a')/$value"),
    ("https://h/s/?sap-client=100&x=%2F", "https://h/s/S('a')/$value?sap-client=100&x=%2F"),
    ("https://h/s%2Ft/", "https://h/s%2Ft/S('a')/$value"), ("https://h/s#x", "https://h/s/S('a')/$value"),
  ])
  func slashesAndQueriesOfTheServiceAreKeptInOrder(_ service: String, _ expected: String) throws {
    #expect(try #require(URL(string: service)).odataMedia("S", "a").absoluteString == expected)
  }

  @Test func aDestinationWithoutAPathIsItsName() {
    #expect(settings.url(destination: "other").absoluteString == "https://mobile.example.com/other")
  }
}
