@_spi(Toolkit) import MartletEngine

/// Provides the configuration of an app: the URL of its server, its identifier, its destinations.
public protocol ConfigurationProviding {
  /// The provider's name, such as `com.sap.configuration.provider.fileconfiguration`.
  var providerIdentifier: String { get }

  /// The values that the provider needs from the user, by key; empty if it needs none.
  var expectedInput: [String: Any] { get }

  /// Returns the configuration.
  ///
  /// - Parameter input: the values for the keys of ``expectedInput``.
  /// - Returns: whether there is a configuration; the configuration, empty if there is none; and the error, if any.
  func provideConfiguration(
    input: [String: Any]
  ) -> (providerSuccess: Bool, configuration: NSDictionary, returnError: (any Error)?)
}

/// Reads an app's configuration from a property list.
///
/// ```swift
/// let configuration = FileConfigurationProvider("AppParameters").provideConfiguration().configuration
/// let destinations = configuration["Destinations"] as? [String: String]
/// ```
///
/// The file is in a bundle: on Linux among the resources of a target, with `bundle: .module`, or beside the program. A
/// path is used as it is. (SAP's provider reads bundles only.)
open class FileConfigurationProvider: ConfigurationProviding {
  /// The name of the file without `.plist`, or its path.
  public let filename: String
  private let bundle: Bundle

  /// Makes a provider.
  ///
  /// - Parameters:
  ///   - configurationFilename: the file's name, without `.plist`; `ConfigurationProvider` by default. With a slash it
  ///     is a path.
  ///   - bundle: the bundle that has the file; the main one by default.
  public init(_ configurationFilename: String = "ConfigurationProvider", bundle: Bundle = .main) {
    filename = configurationFilename
    self.bundle = bundle
  }

  /// `com.sap.configuration.provider.fileconfiguration`.
  open var providerIdentifier: String { "com.sap.configuration.provider.fileconfiguration" }

  /// No values.
  open var expectedInput: [String: Any] { [:] }

  /// Returns the content of the file; the error says why it cannot be read.
  open func provideConfiguration(
    input: [String: Any] = [:]
  ) -> (providerSuccess: Bool, configuration: NSDictionary, returnError: (any Error)?) {
    do {
      guard let file = location else { throw ConfigurationError.missingFile(name: filename) }
      let content = try PropertyListSerialization.propertyList(from: SpareDescriptors.contents(of: file), format: nil)
      guard let values = content as? [String: Any] else { throw ConfigurationError.noDictionary(name: filename) }
      return (true, NSDictionary(dictionary: values), nil)
    } catch { return (false, NSDictionary(), error) }
  }

  private var location: URL? {
    guard filename.contains("/") else { return bundle.url(forResource: filename, withExtension: "plist") }
    return URL(filePath: filename.hasSuffix(".plist") ? filename : filename + ".plist")
  }
}

/// The error of a configuration. (SAP publishes the name, and not the cases.)
public enum ConfigurationError: SAPError, Sendable, Hashable {
  /// The bundle has no property list with this name.
  case missingFile(name: String)
  /// The property list is not a dictionary.
  case noDictionary(name: String)
  /// These settings of Mobile Services are missing, or have another type.
  case invalidSettings(name: String)

  /// The problem and the remedy.
  public var description: String {
    switch self {
    case .missingFile(let name):
      "There is no file \(name).plist in the bundle: add it to the target's resources, or give its path."
    case .noDictionary(let name): "The file \(name).plist is not a dictionary."
    case .invalidSettings(let name): "The settings of Mobile Services have no valid '\(name)'."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

/// Stores a configuration.
public protocol ConfigurationPersisting: AnyObject {
  /// Stores the configuration that a ``ConfigurationLoader`` has found.
  func persistConfiguration(_ configuration: NSDictionary)
}

/// Gets the results of a ``ConfigurationLoader``, on the thread that loads.
public protocol ConfigurationLoaderDelegate: AnyObject {
  /// A provider had a configuration (`result` is true), or none had one; then the provider is the last one, or nil if
  /// there is none at all.
  func configurationProvider(_ provider: (any ConfigurationProviding)?, didCompleteWith result: Bool)

  /// A provider failed. The loader goes on with the next one.
  func configurationProvider(_ provider: any ConfigurationProviding, didEncounter error: any Error)
}

/// Asks providers for the app's configuration, one after another, until one has it.
///
/// SAP's loader has more providers, asks its delegate for input, and writes to `UserDefaults` if it has no output
/// handler. This one asks a provider with the input that it is given, and writes nothing by itself.
open class ConfigurationLoader {
  /// The providers in the order in which they are asked.
  public var providers: [any ConfigurationProviding]
  /// Gets the results.
  public weak var delegate: (any ConfigurationLoaderDelegate)?
  /// Stores the configuration; nil for none.
  public var outputHandler: (any ConfigurationPersisting)?

  /// Makes a loader; by default with a ``FileConfigurationProvider`` alone.
  public init(
    delegate: (any ConfigurationLoaderDelegate)? = nil, providers: [any ConfigurationProviding]? = nil,
    outputHandler: (any ConfigurationPersisting)? = nil
  ) {
    self.delegate = delegate
    self.providers = providers ?? [FileConfigurationProvider()]
    self.outputHandler = outputHandler
  }

  /// Asks the providers.
  ///
  /// - Parameter userInputs: values by the provider's identifier; none by default.
  open func loadConfiguration(userInputs: [String: [String: Any]] = [:]) {
    for provider in providers {
      let found = provider.provideConfiguration(input: userInputs[provider.providerIdentifier] ?? [:])
      if let error = found.returnError { delegate?.configurationProvider(provider, didEncounter: error) }
      guard found.providerSuccess else { continue }
      outputHandler?.persistConfiguration(found.configuration)
      delegate?.configurationProvider(provider, didCompleteWith: true)
      return
    }
    delegate?.configurationProvider(providers.last, didCompleteWith: false)
  }
}
