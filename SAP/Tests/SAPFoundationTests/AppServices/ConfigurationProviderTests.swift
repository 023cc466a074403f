import Foundation
import MartletTesting
import SAPFoundation
import Testing

@Suite("Providers of an app's configuration")
struct ConfigurationProviderTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let values: [String: Any] = ["Destinations": ["orders": "/orders"], "appID": "com.example.shop"]
    try PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0)
      .write(to: folder.file("AppParameters.plist"))
  }

  private var file: FileConfigurationProvider { FileConfigurationProvider(folder.file("AppParameters").path) }

  @Test func aFileIsReadAsAppsReadIt() {
    let (isFound, configuration, error) = file.provideConfiguration()
    #expect(isFound && error == nil)
    #expect((configuration["Destinations"] as? NSDictionary)?["orders"] as? String == "/orders")
    #expect(configuration["Destinations"] as? [String: String] == ["orders": "/orders"])
    #expect(file.providerIdentifier == "com.sap.configuration.provider.fileconfiguration")
    #expect(file.expectedInput.isEmpty)
  }

  @Test func aMissingOrOtherFileIsAnErrorThatNamesIt() throws {
    let (isFound, configuration, error) = FileConfigurationProvider().provideConfiguration(input: [:])
    #expect(!isFound && configuration.count == 0)
    #expect(error as? ConfigurationError == .missingFile(name: "ConfigurationProvider"))
    #expect(error?.localizedDescription.contains("ConfigurationProvider.plist") == true)

    try PropertyListSerialization.data(fromPropertyList: ["a"], format: .xml, options: 0)
      .write(to: folder.file("List.plist"))
    let list = FileConfigurationProvider(folder.file("List.plist").path)
    #expect(list.provideConfiguration().returnError is ConfigurationError)
    #expect(FileConfigurationProvider("/nowhere/x").provideConfiguration().returnError != nil)
  }

  private final class Results: ConfigurationLoaderDelegate, ConfigurationPersisting {
    var completions: [Bool] = []
    var errors = 0
    var stored: [NSDictionary] = []

    func configurationProvider(_ provider: (any ConfigurationProviding)?, didCompleteWith result: Bool) {
      completions.append(result)
    }

    func configurationProvider(_ provider: any ConfigurationProviding, didEncounter error: any Error) { errors += 1 }

    func persistConfiguration(_ configuration: NSDictionary) { stored.append(configuration) }
  }

  @Test func aLoaderTakesTheFirstConfiguration() {
    let results = Results()
    let missing = FileConfigurationProvider("/nowhere/x")
    ConfigurationLoader(delegate: results, providers: [missing, file, missing], outputHandler: results)
      .loadConfiguration()
    #expect(results.completions == [true] && results.errors == 1)
    #expect(results.stored.first?["appID"] as? String == "com.example.shop")

    let loader = ConfigurationLoader(delegate: results)
    loader.loadConfiguration()
    loader.providers = []
    loader.loadConfiguration()
    #expect(results.completions == [true, false, false] && results.stored.count == 1)
  }

  @Test func onlyAKnownDestinationHasAURL() throws {
    let backend = try #require(URL(string: "https://mobile.example.com/base/"))
    let settings = SAPcpmsSettingsParameters(
      backendURL: backend, applicationID: "app", deviceID: "secret-device", destinations: ["orders": "/v1/orders"])

    #expect(settings.url(forDestination: "orders")?.absoluteString == "https://mobile.example.com/base/v1/orders")
    #expect(settings.url(forDestination: "pictures") == nil)
    #expect(SAPcpmsSettingsParameters(backendURL: backend).url(forDestination: "orders") == nil)
    #expect("\(settings)" == "app at https://mobile.example.com/base/")
    #expect(!String(reflecting: settings).contains("secret-device"))
  }
}

private enum OrderError: SAPError {
  case soldOut
  var description: String { "The coffee is sold out." }
}

@Suite("SAP's protocol of errors")
struct SAPErrorTests {
  @Test func textsThatAnErrorDoesNotHaveAreNil() {
    let error = OrderError.soldOut
    #expect(
      [error.errorDescription, error.failureReason, error.recoverySuggestion, error.helpAnchor] == [nil, nil, nil, nil])
    #expect("\(error)" == "The coffee is sold out.")
    #expect(String(reflecting: error) == "OrderError: The coffee is sold out.")
  }

  @Test func theErrorsOfTheModuleConform() {
    let errors: [any SAPError] = [
      SAMLError.cancelled, OTPError.cancelled, OAuth2Error.cancelled, SAPcpmsUserBlockedError.traffic,
      SAPURLSessionError.invalidRequest, ConfigurationError.missingFile(name: "x"),
    ]
    for error in errors { #expect(error.errorDescription == error.description) }
  }
}
