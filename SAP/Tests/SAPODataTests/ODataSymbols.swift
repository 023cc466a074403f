import SAPOData
import TestSupport

// Each documented symbol of the page SAPReference that works, in code that compiles and does not run.
extension SymbolList {
  mutating func addOnlineODataProvider() {
    add("OnlineODataProvider.init(serviceRoot:sapURLSession:)") { (u: URL, s: SAPURLSession) in
      _ = OnlineODataProvider(serviceRoot: u)
      _ = OnlineODataProvider(serviceRoot: u, sapURLSession: s)
    }
    add("OnlineODataProvider.init(serviceName:serviceRoot:sapURLSession:)") { (u: URL, s: SAPURLSession) in
      _ = OnlineODataProvider(serviceName: "Shop", serviceRoot: u)
      _ = OnlineODataProvider(serviceName: "Shop", serviceRoot: u, sapURLSession: s)
    }
    add("OnlineODataProvider.sapURLSession") { (p: OnlineODataProvider, s: SAPURLSession) in
      p.sapURLSession = s
    }
    add("OnlineODataProvider.acquireToken()") { (p: OnlineODataProvider) in
      _ = p.acquireToken as @Sendable () async throws -> Void
    }
    add("OnlineODataProvider.serviceOptions") { (p: OnlineODataProvider) in
      p.serviceOptions.checkVersion = false
    }
    add("OnlineODataProvider.networkOptions") { (p: OnlineODataProvider) in
      p.networkOptions.tunneledMethods.append("MERGE")
      _ = p.networkOptions.tunneledMethods.append("MERGE")
      p.networkOptions.allowTunneling = true
    }
    add("OnlineODataProvider.traceRequests") { (p: OnlineODataProvider) in p.traceRequests = true }
    add("OnlineODataProvider.traceWithData") { (p: OnlineODataProvider) in p.traceWithData = true }
    add("OnlineODataProvider.prettyTracing") { (p: OnlineODataProvider) in p.prettyTracing = true }
  }

  mutating func addOptionsAndProxies() {
    add("ServiceOptions.requiresToken") { (o: ServiceOptions) in _ = o.requiresToken }
    add("ServiceOptions.ieee754Compatible") { (o: ServiceOptions) in _ = o.ieee754Compatible }
    add("ServiceOptions.dataVersion") { (o: ServiceOptions) in _ = o.dataVersion }
    add("NetworkOptions.compressResponses") { (o: NetworkOptions) in _ = o.compressResponses }
  }
}
