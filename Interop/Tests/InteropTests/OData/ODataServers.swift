import Foundation
import SAPOData

/// mock-sap: SAP's published services in V2 and V4, with CSRF tokens and, for the types that have tags, `If-Match`.
final class MockSAP: Sendable {
  private let process: RealProcess

  /// One server for all tests of a run.
  static let shared = Result { try MockSAP() }

  init() throws {
    let port = try LocalPort.free()
    process = try RealProcess(
      Python.path(), ["-m", "mocksap", "--port", "\(port)", "--quiet", "--require-if-match"], port: port)
  }

  /// A provider with a session of its own that adds tokens.
  func provider(_ path: String, _ version: ODataVersion) throws -> OnlineODataProvider {
    guard let root = URL(string: "http://127.0.0.1:\(process.port)\(path)?sap-client=100") else {
      throw RealServerError("'\(path)' is no path")
    }
    let session = SAPURLSession()
    session.register(CSRFTokenObserver(rootUrl: root))
    let provider = OnlineODataProvider(serviceRoot: root, sapURLSession: session)
    provider.serviceOptions.dataVersion = version
    return provider
  }
}

/// odatapy, an implementation of OData 4.01 after Apache Olingo, with the data of `service.py`.
final class ODataPy: Sendable {
  private let process: RealProcess

  init() throws {
    let port = try LocalPort.free()
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "service.py").path
    process = try RealProcess(Python.path(), [script, "\(port)"], port: port)
  }

  func provider(_ format: ServiceOptions.BatchFormat = .multipart) throws -> OnlineODataProvider {
    guard let root = URL(string: "http://127.0.0.1:\(process.port)") else { throw RealServerError("no URL") }
    let provider = OnlineODataProvider(serviceRoot: root)
    provider.serviceOptions.dataVersion = .v4
    provider.serviceOptions.batchFormat = format
    return provider
  }
}
