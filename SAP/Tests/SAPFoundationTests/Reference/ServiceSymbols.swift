import SAPFioriFlows
import SAPFoundation
import TestSupport

// Each documented symbol of the page SAPReference that works, in code that compiles and does not run.
extension SymbolList {
  mutating func addSAPHTTPCookieStorage() {
    add("SAPHTTPCookieStorage.init(persistentStorage:options:)") { (c: any CodableStoring) in
      _ = SAPHTTPCookieStorage()
      _ = SAPHTTPCookieStorage(persistentStorage: c, options: .persistSessionCookies)
    }
    add("SAPHTTPCookieStorage.persistentStorage") { (c: SAPHTTPCookieStorage) in _ = c.persistentStorage }
    add("SAPHTTPCookieStorage.cookieAcceptPolicy") { (c: SAPHTTPCookieStorage) in
      c.cookieAcceptPolicy = .always
    }
    add("SAPHTTPCookieStorage.cookies") { (c: SAPHTTPCookieStorage) in _ = c.cookies }
    add("SAPHTTPCookieStorage.cookies(for:)") { (c: SAPHTTPCookieStorage, u: URL) in _ = c.cookies(for: u) }
    add("SAPHTTPCookieStorage.sortedCookies(using:)") { (c: SAPHTTPCookieStorage) in
      _ = c.sortedCookies(using: [])
    }
  }

  mutating func addStores() {
    add("SAPHTTPCookieStorageOptions") { _ = [SAPHTTPCookieStorageOptions.persistSessionCookies, .default] }
    add("CodableStoring.get(_:for:)") { (c: any CodableStoring) in _ = try c.get(Int.self, for: "key") }
    add("CodableStoring.put(_:for:)") { (c: any CodableStoring) in try c.put(1, for: "key") }
    add("CodableStoring.remove(for:)") { (c: any CodableStoring) in try c.remove(for: "key") }
    add("CodableStorage.init(store:coder:)") { (d: any DataStoring) in
      _ = CodableStorage(store: d)
      _ = CodableStorage(store: d, coder: PlistCoder())
    }
    add("CodableStorage.keys()") { (c: CodableStorage) in _ = try c.keys() }
    add("CompositeCodableStoring") { (c: any CompositeCodableStoring, d: any DataStoring) in
      _ = c.persistentStore
      try c.setPersistentStore(d)
      c.releasePersistentStore()
    }
    add("CompositeStorage") { (d: any DataStoring) in
      let storage = CompositeStorage()
      try storage.setPersistentStore(d)
      try storage.put(1, for: "key")
    }
    add("MemoryDataStorage") { _ = MemoryDataStorage() }
    add("SecureKeyValueStore.init()") { _ = SecureKeyValueStore() }
    add("SecureKeyValueStore.init(name:)") { _ = SecureKeyValueStore(name: "shop") }
    add("SecureKeyValueStore.init(databaseFileName:)") { _ = SecureKeyValueStore(databaseFileName: "shop.db") }
    add("SecureKeyValueStore.init(databaseStore:name:)") { (d: SecureDatabaseStore) in
      _ = try SecureKeyValueStore(databaseStore: d, name: "shop")
    }
    add("SecureKeyValueStore.open(with:)") { (k: SecureKeyValueStore) in try k.open(with: "secret") }
    add("SecureKeyValueStore.put(_:forKey:)") { (k: SecureKeyValueStore) in try k.put("anna", forKey: "user") }
    add("SecureKeyValueStore.getString(_:)") { (k: SecureKeyValueStore) in _ = try k.getString("user") }
    add("SecureKeyValueStore.removeAll()") { (k: SecureKeyValueStore) in try k.removeAll() }
    add("KeyValueStoreProtocol") { (k: any KeyValueStoreProtocol) in _ = try k.getBool("flag") }
    add("SecureDatabaseStore") { (d: SecureDatabaseStore) in try d.open(with: "secret") }
  }

  mutating func addSAPcpmsSettingsParameters() {
    add("SAPcpmsSettingsParameters.init(backendURL:applicationID:)") { (u: URL) in
      _ = SAPcpmsSettingsParameters(backendURL: u, applicationID: "app")
    }
    add("SAPcpmsSettingsParameters.backendURL") { (p: SAPcpmsSettingsParameters) in _ = p.backendURL }
    add("SAPcpmsSettingsParameters.applicationID") { (p: SAPcpmsSettingsParameters) in _ = p.applicationID }
    add("SAPcpmsSettingsParameters.deviceID") { (p: SAPcpmsSettingsParameters) in _ = p.deviceID }
    add("SAPcpmsSettingsParameters.applicationVersion") { (p: SAPcpmsSettingsParameters) in
      _ = p.applicationVersion
    }
    add("SAPcpmsSettingsParameters.destinations") { (p: SAPcpmsSettingsParameters) in _ = p.destinations }
    add("SAPcpmsSettingsParameters.defaultApplicationVersion") {
      _ = SAPcpmsSettingsParameters.defaultApplicationVersion
    }
    add("SAPcpmsSettingsParameters.defaultApplicationID") { _ = SAPcpmsSettingsParameters.defaultApplicationID }
    add("SAPcpmsSettingsParameters.defaultDeviceID") { _ = SAPcpmsSettingsParameters.defaultDeviceID }
    add("SAPcpmsSettingsParameters.url(forDestination:)") { (p: SAPcpmsSettingsParameters) in
      _ = p.url(forDestination: "shop")
    }
    add("SAPcpmsSettingsParameters.description") { (p: SAPcpmsSettingsParameters) in
      _ = (p.description, p.debugDescription)
    }
  }

  mutating func addSAPcpmsDestinations() {
    add(
      "SAPcpmsDestinations.init(sapURLSession:settingsParameters:)"
    ) { (s: SAPURLSession, p: SAPcpmsSettingsParameters) in
      _ = SAPcpmsDestinations(sapURLSession: s, settingsParameters: p)
    }
    add(
      "SAPcpmsDestinations.init(sapURLSession:destinationsServiceUrl:remoteDestinationsEndpointUrl:)"
    ) { (s: SAPURLSession, u: URL) in
      _ = SAPcpmsDestinations(sapURLSession: s, destinationsServiceUrl: u, remoteDestinationsEndpointUrl: u)
    }
    add("SAPcpmsDestinations.load(completionHandler:)") { (d: SAPcpmsDestinations) in
      d.load { destinations, error in _ = (destinations, error) }
    }
  }

  mutating func addSAPcpmsSettings() {
    add(
      "SAPcpmsSettings.init(sapURLSession:settingsParameters:)"
    ) { (s: SAPURLSession, p: SAPcpmsSettingsParameters) in
      _ = SAPcpmsSettings(sapURLSession: s, settingsParameters: p)
    }
    add(
      "SAPcpmsSettings.init(sapURLSession:applicationSettingsURL:userSettingsURL:deviceSettingsURL:)"
    ) { (s: SAPURLSession, u: URL) in
      _ = SAPcpmsSettings(
        sapURLSession: s, applicationSettingsURL: u, userSettingsURL: u, deviceSettingsURL: u)
    }
    add("SAPcpmsSettings.load(for:)") { (m: SAPcpmsSettings) in m.load(for: .application) { _, _ in } }
    add("SAPcpmsSettings.store(_:for:keyPath:)") { (m: SAPcpmsSettings) in
      m.store([:], for: .user, keyPath: "a/b") { _ in }
    }
    add("SAPcpmsSettings.delete(for:keyPath:)") { (m: SAPcpmsSettings) in
      m.delete(for: .device, keyPath: "a/b") { _ in }
    }
  }

  mutating func addRolesAndErrors() {
    add("SAPcpmsSettingsError") {
      _ = [SAPcpmsSettingsError.network, .missingValueForSettingsTarget, .invalidHTTPStatus(statusCode: 500)]
    }
    add("SAPcpmsUserRoles.init(sapURLSession:roleServiceUrl:)") { (s: SAPURLSession, u: URL) in
      _ = SAPcpmsUserRoles(sapURLSession: s, roleServiceUrl: u)
    }
    add(
      "SAPcpmsUserRoles.init(sapURLSession:settingsParameters:)"
    ) { (s: SAPURLSession, p: SAPcpmsSettingsParameters) in
      _ = SAPcpmsUserRoles(sapURLSession: s, settingsParameters: p)
    }
    add("SAPcpmsUserRoles.init(_:)") { (o: OnboardingSession) in _ = SAPcpmsUserRoles(o) }
    add("SAPcpmsUserRoles.load(completionHandler:)") { (m: SAPcpmsUserRoles) in
      m.load { user, error in _ = (user?.userName, error) }
    }
    add("SAPcpmsUserRoles.SAPcpmsUserInfo") { (i: SAPcpmsUserRoles.SAPcpmsUserInfo) in
      _ = (i.id, i.userName, i.roles, i.others, i.emails)
    }
    add("SAPcpmsUserRolesError") {
      _ = [SAPcpmsUserRolesError.invalidServerResponse, .invalidHTTPStatus(statusCode: 403)]
    }
  }

  mutating func addSAPcpmsLogUploader() {
    add("SAPcpmsLogUploader.attachToRootLogger()") { try SAPcpmsLogUploader.attachToRootLogger() }
    add(
      "SAPcpmsLogUploader.uploadLogs(sapURLSession:settingsParameters:completionHandler:)"
    ) { (s: SAPURLSession, p: SAPcpmsSettingsParameters) in
      SAPcpmsLogUploader.uploadLogs(sapURLSession: s, settingsParameters: p) { _ in }
    }
    add(
      "SAPcpmsLogUploader.uploadLogs(sapURLSession:logUploadURL:completionHandler:)"
    ) { (s: SAPURLSession, u: URL) in
      SAPcpmsLogUploader.uploadLogs(sapURLSession: s, logUploadURL: u) { _ in }
    }
    add("SAPcpmsLogUploader.uploadLogs(_:completionHandler:)") { (o: OnboardingSession) in
      SAPcpmsLogUploader.uploadLogs(o) { error in _ = error }
    }
    add("SAPcpmsLogUploader.logUploadEnabled") { SAPcpmsLogUploader.logUploadEnabled = true }
    add("SAPcpmsLogUploader.uploadLogInChunks") { SAPcpmsLogUploader.uploadLogInChunks = true }
    add("SAPcpmsLogUploader.logLevel") { SAPcpmsLogUploader.logLevel = .debug }
    add("SAPcpmsLogUploader.logExpiration") { SAPcpmsLogUploader.logExpiration = 7 }
    add("SAPcpmsLogUploader.apply(sapcpmsLogSettings:)") { (l: SAPcpmsLogSettings) in
      SAPcpmsLogUploader.apply(sapcpmsLogSettings: l)
    }
  }

  mutating func addLogs() {
    add("SAPcpmsLogSettings.init(sapcpmsSettings:)") {
      _ = try SAPcpmsLogSettings(sapcpmsSettings: [String: Any]())?.logLevel
    }
    add("SAPcpmsLogSettings.init(sapcpmsLogSettings:)") {
      _ = try SAPcpmsLogSettings(sapcpmsLogSettings: ["logLevel": "DEBUG"])?.logLevel
    }
    add("SAPcpmsLogSettings") {
      _ = SAPcpmsLogSettings(
        logUploadEnabled: true, entryExpiry: 0, logLevel: "DEBUG", maxFileNum: 0, maxFileSize: 5)
    }
    add("SAPcpmsLogUploaderError") {
      _ = [SAPcpmsLogUploaderError.missingLogFiles, .emptyLogFiles, .uploadAlreadyInProgress, .configurationNotEnabled]
    }
    add("Logger.shared(named:)") {
      Logger.shared(named: "shop").error("none", error: SAPURLSessionError.invalidRequest)
    }
    add("Logger.shared(forClass:)") { Logger.shared(forClass: NSObject.self).warn("none") }
    add("Logger.root") { Logger.root.logLevel = .debug }
  }

  mutating func addSAPcpmsRemoteNotificationClient() {
    add(
      "SAPcpmsRemoteNotificationClient.init(sapURLSession:destinationURL:feedbackURL:)"
    ) { (s: SAPURLSession, u: URL) in
      _ = SAPcpmsRemoteNotificationClient(sapURLSession: s, destinationURL: u, feedbackURL: u)
    }
    add(
      "SAPcpmsRemoteNotificationClient.init(sapURLSession:settingsParameters:)"
    ) { (s: SAPURLSession, p: SAPcpmsSettingsParameters) in
      _ = SAPcpmsRemoteNotificationClient(sapURLSession: s, settingsParameters: p)
    }
    add(
      "SAPcpmsRemoteNotificationClient.registerDeviceToken(_:completionHandler:)"
    ) { (c: SAPcpmsRemoteNotificationClient, d: Data) in
      c.registerDeviceToken(d) { _ in }
    }
    add(
      "SAPcpmsRemoteNotificationClient.registerDeviceToken(_:withParameters:completionHandler:)"
    ) { (c: SAPcpmsRemoteNotificationClient, d: Data) in
      c.registerDeviceToken(d, withParameters: SAPcpmsRemoteNotificationParameters(deviceType: "iOS")) { _ in }
    }
    add(
      "SAPcpmsRemoteNotificationClient.unregisterDeviceToken(completionHandler:)"
    ) { (c: SAPcpmsRemoteNotificationClient) in
      c.unregisterDeviceToken { _ in }
    }
  }

  mutating func addOtherClients() {
    add("SAPcpmsRemoteNotificationParameters") { (p: SAPcpmsRemoteNotificationParameters) in
      _ = (p.deviceType, p.pushGroup, p.userLocale, p.timeZone, p.formFactor, p.capabilities)
    }
  }

  mutating func addConfiguration() {
    add("FileConfigurationProvider.init()") { _ = [FileConfigurationProvider()] as [any ConfigurationProviding] }
    add("FileConfigurationProvider.init(_:)") {
      let provider = FileConfigurationProvider("AppParameters")
      _ = provider.provideConfiguration().configuration["Destinations"] as? NSDictionary
    }
    add("ConfigurationProviding") { (p: any ConfigurationProviding) in _ = p.provideConfiguration(input: [:]) }
    add(
      "ConfigurationLoader.init(delegate:providers:outputHandler:)"
    ) { (d: any ConfigurationLoaderDelegate, p: any ConfigurationPersisting) in
      _ = ConfigurationLoader(delegate: d, providers: [FileConfigurationProvider()], outputHandler: p)
    }
    add("ConfigurationLoader.loadConfiguration()") { (l: ConfigurationLoader) in l.loadConfiguration() }
  }
}
