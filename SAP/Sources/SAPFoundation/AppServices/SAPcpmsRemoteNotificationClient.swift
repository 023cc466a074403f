@_spi(Toolkit) import MartletSemantics

/// Registers a device for push notifications with Mobile Services.
///
/// ```swift
/// let session = SAPURLSession()
/// let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, settingsParameters: settings)
/// client.registerDeviceToken(deviceToken) { error in print(error?.localizedDescription ?? "registered") }
/// ```
///
/// The service is `POST …/mobileservices/push/v1/runtime/applications/ID/os/ios/devices/DEVICE`. The token comes from
/// Apple's service, so on Linux this serves tests and tools. SAP's client also reports the status of a notification to
/// the feedback URL; the content of those requests is not published, and they are not part of this module.
public final class SAPcpmsRemoteNotificationClient: Sendable {
  private let session: SAPURLSession
  private let url: URL
  /// The URL for the status of notifications; nil if there is none. It is not used.
  public let feedbackURL: URL?

  /// Makes a client for the URL of a device.
  public init(sapURLSession: SAPURLSession, destinationURL: URL, feedbackURL: URL? = nil) {
    session = sapURLSession
    url = destinationURL
    self.feedbackURL = feedbackURL
  }

  /// Makes a client for the app and the device of the settings. Without a device identifier, the server chooses one.
  public convenience init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters) {
    let devices = "/mobileservices/push/v1/runtime/applications/\(settingsParameters.applicationSegment)/os/ios/devices"
    let path = devices + (settingsParameters.deviceSegment.map { "/" + $0 } ?? "")
    self.init(sapURLSession: sapURLSession, destinationURL: settingsParameters.hostURL(path))
  }

  /// Registers the device. The handler is called once, on the session's `delegateQueue`, with nil, a
  /// ``SAPcpmsRemoteNotificationError``, or ``SAPLoginRequiredError`` if the server sent a login page.
  ///
  /// - Parameters:
  ///   - deviceToken: the bytes from Apple's service, which are sent in hexadecimal digits.
  ///   - parameters: describes the device; by default as far as it is known.
  ///   - completionHandler: gets the error, if any.
  public func registerDeviceToken(
    _ deviceToken: Data, withParameters parameters: SAPcpmsRemoteNotificationParameters = .init(),
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    guard !deviceToken.isEmpty else {
      return session.callbacks.add { completionHandler(SAPcpmsRemoteNotificationError.emptyDeviceToken) }
    }
    let body = Registration(deviceToken, parameters)
    do {
      send(
        URLRequest(SAPURLSession.HTTPMethod.post, service: url, json: try JSONEncoder().encode(body)), completionHandler
      )
    } catch {
      session.callbacks.add { completionHandler(SAPcpmsRemoteNotificationError.invalidArguments(error: error)) }
    }
  }

  /// Ends the registration, with DELETE on the same URL. (SAP publishes that there is such a method, and neither its
  /// name nor its request.)
  public func unregisterDeviceToken(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    send(URLRequest(SAPURLSession.HTTPMethod.delete, service: url), completionHandler)
  }

  /// Registers the device. Cancelling ends the wait, and not the request.
  ///
  /// - Throws: ``SAPcpmsRemoteNotificationError``, or ``SAPLoginRequiredError`` if the server sent a login page.
  public func registerDeviceToken(
    _ deviceToken: Data, withParameters parameters: SAPcpmsRemoteNotificationParameters = .init()
  ) async throws {
    let _: Void? = try await firstResult { done in
      registerDeviceToken(deviceToken, withParameters: parameters) { done(nil, $0) }
    }
  }

  /// Ends the registration. Cancelling ends the wait, and not the request.
  ///
  /// - Throws: ``SAPcpmsRemoteNotificationError``, or ``SAPLoginRequiredError`` if the server sent a login page.
  public func unregisterDeviceToken() async throws {
    let _: Void? = try await firstResult { done in unregisterDeviceToken { done(nil, $0) } }
  }

  private func send(_ request: URLRequest, _ completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    session.send(request, Self.check) { _, error in completionHandler(error.map { Self.failure($0) }) }
  }

  private static func check(_ data: Data, _ response: URLResponse?) throws {
    let head = response as? HTTPURLResponse
    if let login = head.flatMap({ SAPLoginRequiredError($0) }) { throw login }
    let status = head?.statusCode ?? 0
    guard (200...299).contains(status) else {
      throw SAPcpmsRemoteNotificationError.invalidHTTPStatus(statusCode: status)
    }
  }

  private static func failure(_ error: any Error) -> any Error {
    if error is SAPcpmsRemoteNotificationError || error is SAPLoginRequiredError { return error }
    return SAPcpmsRemoteNotificationError.networkCommunicationFailed(error: error, httpStatuscode: nil, response: nil)
  }

  /// The body of a registration, with the published keys.
  private struct Registration: Encodable {
    let pushToken: String
    let deviceModel: String
    let pushGroup: String
    let formFactor: String
    let userLocale: String
    let timeZone: String
    let capabilities: [SAPcpmsRemoteNotificationParameters.Capability]?

    init(_ token: Data, _ parameters: SAPcpmsRemoteNotificationParameters) {
      pushToken = token.hexadecimal
      deviceModel = parameters.deviceType
      pushGroup = parameters.pushGroup
      formFactor = parameters.formFactor
      userLocale = parameters.userLocale
      timeZone = parameters.timeZone
      capabilities = parameters.capabilities.isEmpty ? nil : parameters.capabilities
    }
  }
}

extension SAPcpmsRemoteNotificationClient: CustomReflectable {
  /// A mirror without user information and queries of the URLs.
  public var customMirror: Mirror {
    Mirror(self, children: ["url": url.redacted, "feedbackURL": feedbackURL?.redacted as Any])
  }
}

/// Describes a device, so that an administrator can send a notification to some devices only.
public struct SAPcpmsRemoteNotificationParameters: Sendable, Hashable {
  /// A capability of a device. (SAP publishes the name; the properties are those of its SDK for Android.)
  public struct Capability: Codable, Sendable, Hashable {
    /// The category, such as a group of apps.
    public let category: String
    /// The name, such as `Module`.
    public let capabilityName: String
    /// The value.
    public let capabilityValue: String

    /// Makes a capability.
    public init(category: String, capabilityName: String, capabilityValue: String) {
      self.category = category
      self.capabilityName = capabilityName
      self.capabilityValue = capabilityValue
    }
  }

  /// The type of the device, such as `iPhone`.
  public let deviceType: String
  /// A group of the app's own.
  public let pushGroup: String
  /// The user's language.
  public let userLocale: String
  /// The user's time zone.
  public let timeZone: String
  /// The kind of the device, such as `tablet`.
  public let formFactor: String
  /// The capabilities.
  public let capabilities: [Capability]

  /// The default of ``deviceType``: `iOS`, or `Linux` there.
  public static let deviceModel: String = {
    #if os(Linux)
    "Linux"
    #else
    "iOS"
    #endif
  }()
  /// The default of ``userLocale``: the language of the device, such as `de`.
  public static let deviceLanguageCode: String = Locale.current.language.languageCode?.identifier ?? "en"
  /// The default of ``timeZone``, such as `Europe/Berlin`. (SAP's name of it is not published.)
  public static let deviceTimeZone: String = TimeZone.current.identifier

  /// Makes parameters.
  public init(
    deviceType: String = Self.deviceModel, pushGroup: String = "", userLocale: String = Self.deviceLanguageCode,
    timeZone: String = Self.deviceTimeZone, formFactor: String = "", capabilities: [Capability] = []
  ) {
    self.deviceType = deviceType
    self.pushGroup = pushGroup
    self.userLocale = userLocale
    self.timeZone = timeZone
    self.formFactor = formFactor
    self.capabilities = capabilities
  }
}

/// The error of a registration for push notifications. (SAP has further cases, for topics and for the status of
/// notifications.)
public enum SAPcpmsRemoteNotificationError: SAPError, Sendable {
  /// The token is empty.
  case emptyDeviceToken
  /// The request failed with the session's error, or its response does not come from the service, as a login page.
  case networkCommunicationFailed(error: (any Error)?, httpStatuscode: Int?, response: String?)
  /// The parameters cannot be sent, or there are no settings.
  case invalidArguments(error: (any Error)?)
  /// The service refused the request: with 401 without a login, 403 without the permission, and 404 if push is switched
  /// off for the app.
  case invalidHTTPStatus(statusCode: Int)

  /// The problem.
  public var description: String {
    switch self {
    case .emptyDeviceToken: "The device token is empty."
    case .networkCommunicationFailed(let error, _, _):
      "The device was not registered\(error.map { ": \($0)" } ?? ".")"
    case .invalidArguments(let error): "The device cannot be registered\(error.map { ": \($0)" } ?? ": no settings.")"
    case .invalidHTTPStatus(let status): "The service refused the registration: status \(status)."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

extension SAPcpmsRemoteNotificationError: CustomReflectable {
  /// A mirror with the description only: the response may contain secrets.
  public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
}
