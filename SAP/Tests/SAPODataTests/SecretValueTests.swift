import Foundation
import MartletTesting
import SAPFoundation
import SAPOData
import TestSupport
import Testing

/// The values of entities, keys and conditions are shown: they are the program's own.
@Suite(.timeLimit(.minutes(5))) struct SecretValueTests {
  private static func values() -> [(name: String, value: Any)] {
    let link = ODataLink(rawValue: secretURL.absoluteString)
    let path = ODataPath(link)
    let query = ODataQuery().custom("access_token", "hidden")
    var batch = ODataBatch()
    let part = batch.read([String: String].self, at: path, query)
    return [
      ("ODataLink", link), ("ODataPath", path), ("ODataQuery", query), ("ODataBatch", batch), ("ODataBatch.Part", part),
      ("ODataContent", ODataContent.data(Data("hidden".utf8))),
      ("OnlineODataProvider", OnlineODataProvider(serviceRoot: secretURL)),
      ("ODataExpansion", ODataExpansion("Items", query)),
    ]
  }

  @Test func publicValuesShowNoSecrets() {
    for (name, value) in Self.values() { #expect(!showsSecret(value), "\(name)") }
  }
}
