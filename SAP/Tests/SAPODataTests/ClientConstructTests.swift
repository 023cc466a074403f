import SAPOData
import TestSupport
import Testing

// What public apps write around SAP's provider, a function for each construct. They compile and are not run. Proxies
// are stand-ins here: SAP's tools generate them.

private protocol ODataControlling {
  func configureOData(sapURLSession: SAPURLSession, serviceRoot: URL) throws
}

private final class ShopService<Provider> {
  let provider: Provider
  init(provider: Provider) { self.provider = provider }
}

private final class OnlineODataController: ODataControlling {
  private let logger = Logger.shared(named: "OnlineODataController")
  var shop: ShopService<OnlineODataProvider>?

  func configureOData(sapURLSession: SAPURLSession, serviceRoot: URL) throws {
    let provider = OnlineODataProvider(serviceName: "Shop", serviceRoot: serviceRoot, sapURLSession: sapURLSession)
    provider.serviceOptions.checkVersion = false
    shop = ShopService(provider: provider)
    shop?.provider.networkOptions.tunneledMethods.append("MERGE")
    logger.info("configured")
  }
}

private func providerWithoutAName(_ root: URL) -> OnlineODataProvider { OnlineODataProvider(serviceRoot: root) }

private func traceAProvider(_ provider: OnlineODataProvider) {
  provider.traceRequests = true
  provider.traceWithData = true
  provider.prettyTracing = true
}

private func tunnelAndKeepTheList(_ provider: OnlineODataProvider) {
  _ = provider.networkOptions.tunneledMethods.append("MERGE")
}

private func replaceTheSession(_ provider: OnlineODataProvider) { provider.sapURLSession = SAPURLSession() }

private func fetchTheToken(_ provider: OnlineODataProvider) async throws { try await provider.acquireToken() }

@Suite("Constructs of public apps")
struct ClientConstructTests {
  private let rows: [SymbolPage.Row]

  init() throws {
    rows = try SymbolPage("SAP/Sources/SAPFoundation/SAPFoundation.docc/SAPReference.md").rows
      .filter { $0.part == "OData" }
  }

  @Test func theSymbolsThatWorkAreThoseThatCompile() {
    var list = SymbolList()
    list.addOnlineODataProvider()
    list.addOptionsAndProxies()

    #expect(Set(rows.filter { $0.status != .notThere }.map(\.name)) == list.names)
  }

  @Test func theSymbolsThatAreNotThereAreNotInTheAPI() throws {
    let api = try PublicAPI(of: "SAPOData")

    #expect(rows.filter { $0.status == .notThere && api.contains($0.name) }.map(\.name).isEmpty)
  }
}
