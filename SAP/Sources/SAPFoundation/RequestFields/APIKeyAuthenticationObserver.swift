@_spi(Toolkit) import MartletEngine
public import MartletSemantics

/// A key by which a server recognizes an app. A description of it does not show the key.
public struct APIKeyCredential: Codable, Sendable, Hashable {
  /// The key.
  public let apiKey: String

  /// Makes a credential.
  public init(apiKey: String) { self.apiKey = apiKey }
}

extension APIKeyCredential: CustomStringConvertible, CustomReflectable {
  /// The words "an API key".
  public var description: String { "an API key" }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The API keys of an app. A description of it does not show them.
public struct APIKeyAuthenticationConfig: Sendable, Hashable {
  /// The keys. The first one is sent: what SAP's framework does with the others is not published.
  public let apikeys: [String]
  /// Whether the app has no other authentication. It describes the configuration of Mobile Services, and changes no
  /// request.
  public let isAPIKeyAccessOnly: Bool
  /// Whether the app may be used without a user. It changes no request, either.
  public let allowAnonymousAccessFlag: Bool

  /// Makes a configuration.
  ///
  /// - Parameters:
  ///   - apikeys: the keys.
  ///   - isAPIKeyAccessOnly: see the property; false by default.
  ///   - allowAnonymousAccessFlag: see the property; false by default.
  public init(apikeys: [String], isAPIKeyAccessOnly: Bool = false, allowAnonymousAccessFlag: Bool = false) {
    self.apikeys = apikeys
    self.isAPIKeyAccessOnly = isAPIKeyAccessOnly
    self.allowAnonymousAccessFlag = allowAnonymousAccessFlag
  }
}

extension APIKeyAuthenticationConfig: CustomStringConvertible, CustomReflectable {
  /// The number of keys.
  public var description: String { "\(apikeys.count) API keys" }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Provides the API key of an app.
public protocol APIKeyCredentialDiscovery {
  /// Returns the key; nil if there is none. It is called before each request, by only one thread at a time, and should
  /// be fast.
  ///
  /// - Parameters:
  ///   - appplicationId: the request's `X-SMP-APPID`; nil if no ``SAPcpmsObserver`` was registered before. (The
  ///     spelling is SAP's.)
  ///   - user: always nil: the value of SAP's observer is not published.
  func provideAPIKeyCredential(for appplicationId: String?, user: String?) -> APIKeyCredential?
}

/// Adds an API key to every request to one backend.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(APIKeyAuthenticationObserver(apiKey: key, backend: settings.backendURL))
/// ```
///
/// The key is sent to one origin: the backend's, by default that of the first request. It is never sent to another
/// origin after a redirect. If a request already has the field, its value is not changed. If a server refuses the key
/// with 401, the caller gets the 401: there is nothing to renew.
///
/// SAP publishes the class, its discovery and its `isAPIKeyAccessOnly`. That property describes the configuration of
/// Mobile Services, does not change requests, and is not part of this module. The name of the field,
/// ``APIKeyCredential/apiKey`` and all other names are not SAP's.
open class APIKeyAuthenticationObserver: BuiltInObserver {
  /// `X-API-Key`.
  public static let defaultField: FieldName = "X-API-Key"

  private let keys: APIKeys

  private init(_ keys: APIKeys) { self.keys = keys }

  /// Returns an observer with the same key or discovery, because a key belongs to an app. A subclass has to override
  /// it, because the copy is of this class.
  open override func copy() -> Any? { APIKeyAuthenticationObserver(keys.copy()) }

  /// Makes an observer that gets the key from a discovery.
  ///
  /// - Parameters:
  ///   - apikeyCredentialDiscovery: provides the key.
  ///   - backend: the URL to whose origin the key is sent; by default that of the first request.
  ///   - field: the field; `X-API-Key` by default.
  public init(
    apikeyCredentialDiscovery: any APIKeyCredentialDiscovery, backend: URL? = nil,
    field: FieldName = APIKeyAuthenticationObserver.defaultField
  ) {
    let discovery = Synchronized(apikeyCredentialDiscovery)
    keys = APIKeys(backend, field) { id in
      discovery.call { $0.provideAPIKeyCredential(for: id, user: nil) }
    }
  }

  /// Makes an observer for one key.
  ///
  /// - Parameters:
  ///   - apiKey: the key.
  ///   - backend: the URL to whose origin the key is sent; by default that of the first request.
  ///   - field: the field; `X-API-Key` by default.
  public init(apiKey: String, backend: URL? = nil, field: FieldName = APIKeyAuthenticationObserver.defaultField) {
    keys = APIKeys(backend, field) { _ in APIKeyCredential(apiKey: apiKey) }
  }
}

extension APIKeyAuthenticationObserver: InterceptingObserver {
  var interceptor: any Interceptor { keys }
}

/// Adds the key to requests to its origin.
private final class APIKeys: Interceptor {
  private let backend: URL?
  private let field: FieldName
  private let key: @Sendable (String?) -> APIKeyCredential?
  private let origin: Locked<Origin?>

  init(_ backend: URL?, _ field: FieldName, _ key: @escaping @Sendable (String?) -> APIKeyCredential?) {
    self.backend = backend
    self.field = field
    self.key = key
    origin = Locked(backend.flatMap { Origin($0) })
  }

  func copy() -> APIKeys { APIKeys(backend, field, key) }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let asked = call.askedURL.flatMap { Origin($0) }
    let origin = origin.withLock { origin in
      origin = origin ?? asked
      return origin
    }
    guard origin == request.origin, !request.fields.contains(field),
      let credential = key(request.fields["X-SMP-APPID"])
    else { return .send(request) }
    var request = request
    request.fields[field] = credential.apiKey
    return .send(request)
  }
}

extension APIKeys: CustomReflectable {
  /// A mirror without children: the backend's URL may have a password.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
