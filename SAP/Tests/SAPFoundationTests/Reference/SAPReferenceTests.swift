import SAPFoundation
import TestSupport
import Testing

@Suite("SAP's reference")
struct SAPReferenceTests {
  private let page: SymbolPage
  private let api: PublicAPI

  init() throws {
    page = try SymbolPage("SAP/Sources/SAPFoundation/SAPFoundation.docc/SAPReference.md")
    api = try PublicAPI(of: "SAPFoundation")
  }

  /// The rows of this module; `SAPOData` has tests of its own.
  private var rows: [SymbolPage.Row] { page.rows.filter { $0.part != "OData" } }

  @Test func eachLineOfTheTablesCanBeRead() {
    #expect(page.unreadableLines.isEmpty)
    #expect(rows.count > 200)
    #expect(Set(page.rows.map(\.name)).count == page.rows.count)
  }

  @Test func theSymbolsThatWorkAreThoseThatCompile() {
    let working = Set(rows.filter { $0.status != .notThere }.map(\.name))
    let compiled = SymbolList.ofSAPFoundation.names

    #expect(working.subtracting(compiled).isEmpty)
    #expect(compiled.subtracting(working).isEmpty)
  }

  @Test func theSymbolsThatAreNotThereAreNotInTheAPI() {
    #expect(rows.filter { $0.status == .notThere && api.contains($0.name) }.map(\.name).isEmpty)
  }

  @Test(arguments: [
    ("SAPURLSession", true), ("SAPURLSession.register(_:)", true), ("SAPURLSession.init(delegate:)", true),
    ("SAMLObserver.init(settingsParameters:webViewPresenter:)", true), ("SAPURLSession.DataTaskPublisher", true),
    ("SAPURLError.client(response:payload:)", true), ("SAPURLSession.RequestDisposition.allow(_:)", true),
    ("SAPcpmsUserRoles.load()", true), ("CodableStorage.get(_:for:)", true), ("CorrelationObserver.init()", true),
    ("SAMLObserver.init(settingsParameters:)", false), ("SAPURLSession.register(observer:)", false),
    ("SAPURLSession.dispatch()", false), ("Session", false),
  ])
  func theListOfTheAPIIsSearchedByLabels(symbol: String, isThere: Bool) {
    #expect(api.contains(symbol) == isThere)
  }
}

extension SymbolList {
  fileprivate static var ofSAPFoundation: SymbolList {
    var list = SymbolList()
    list.addSAPURLSession()
    list.addSAPURLSessionTask()
    list.addSAPURLSessionDownloadTask()
    list.addSAPURLSessionWebSocketTask()
    list.addSAPURLSessionObserving()
    list.addSAPURLSessionDelegate()
    list.addAnswers()
    list.addSAPURLSessionError()
    list.addSAPURLError()
    list.addMoreErrors()
    list.addSAPcpmsObserver()
    list.addCSRFTokens()
    list.addOtherFields()
    list.addSAPcpmsUserBlockedObserver()
    list.addPolicies()
    list.addPasswordsAndOAuth20()
    list.addSAMLAndOnetimePasswords()
    list.addCertificatesAndPages()
    list.addSAPHTTPCookieStorage()
    list.addStores()
    list.addSAPcpmsSettingsParameters()
    list.addSAPcpmsDestinations()
    list.addSAPcpmsSettings()
    list.addRolesAndErrors()
    list.addSAPcpmsLogUploader()
    list.addLogs()
    list.addSAPcpmsRemoteNotificationClient()
    list.addOtherClients()
    list.addConfiguration()
    list.addOnboarding()
    list.addFlows()
    list.addSteps()
    return list
  }
}
