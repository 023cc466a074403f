import Martlet
@_spi(Credentials) @_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Transports) import MartletURLSession

/// The transport of a session. It waits for connectivity, and refuses requests of tasks that began before a sign-out.
/// It lets the transport below ask the task's observers and delegate about the connection.
struct SAPTransport: Transport {
  let base: any Transport
  /// The same transport, if it asks observers and delegate about its connections.
  private let challenging: (any ChallengingTransport)?

  init(base: any Transport) {
    self.base = base
    challenging = base as? any ChallengingTransport
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let task = call[SAPURLSessionTask.ofCall] else { return try await base.send(request, in: call) }
    return try await task.retryingConnection {
      try task.session.signOut.check(task.begun)
      guard let challenging else { return try await base.send(request, in: call) }
      return try await challenging.send(request, in: call, for: task)
    }
  }

  func releaseConnections(_ which: ConnectionRelease) async { await base.releaseConnections(which) }

  /// Returns a transport on Foundation's URLSession, which ignores the settings of a connection.
  private static func overFoundation(
    _ configuration: URLSessionConfiguration, _ connection: ConnectionConfiguration
  ) -> any Transport {
    for setting in connection.changedSettings {
      SessionLog.write(
        .warning, nil, "this session runs over Foundation's URLSession, which ignores connection.\(setting.rawValue)")
    }
    // A guard that does not hold would be worse than none.
    return URLSessionTransport(configuration, refusing: connection.changedSettings.filter { $0 == .addressPolicy })
  }
}

/// A transport that asks observers and delegate about its connections.
protocol ChallengingTransport: Transport {
  /// Sends a request of a task.
  func send(_ request: HTTPRequest, in call: Call, for task: SAPURLSessionTask) async throws -> HTTPResponse

  /// Removes all answers to challenges.
  func removeAnswers()
  /// Removes the answer of one origin, because it was refused.
  func removeAnswer(for origin: Origin)
}

extension SAPURLSessionTask {
  /// Sends a request. If the configuration says `waitsForConnectivity`, it is sent again until a connection can be
  /// made, also after a connect timeout: a server behind a network that is missing may refuse connections or be silent.
  /// Until then, nothing of the request was sent.
  fileprivate func retryingConnection(_ send: () async throws -> HTTPResponse) async throws -> HTTPResponse {
    guard session.waitsForConnectivity else { return try await send() }
    var delay = Duration.seconds(1)
    while true {
      do { return try await send() } catch let error as HTTPError where error.lacksConnection {
        notifyOfWaiting()
        try await session.engine.configuration.clock.sleep(for: delay)
        delay = min(delay * 2, .seconds(30))
      }
    }
  }

  private func notifyOfWaiting() {
    let wasTold = mutable.withLock { state in
      defer { state.hasReportedWaiting = true }
      return state.hasReportedWaiting
    }
    guard !wasTold else { return }
    session.notify { [self] in $0.sapURLSession(session, taskIsWaitingForConnectivity: self) }
  }
}

#if os(Linux)
extension SAPTransport {
  /// Returns the transport for a configuration: the default one, or Foundation's if the configuration has protocol
  /// classes of the app.
  static func transport(
    for configuration: URLSessionConfiguration, _ connection: ConnectionConfiguration
  ) -> any Transport {
    let ofFoundation = Set((URLSessionConfiguration.ephemeral.protocolClasses ?? []).map { ObjectIdentifier($0) })
    let hasOwnClasses = (configuration.protocolClasses ?? []).contains { !ofFoundation.contains(ObjectIdentifier($0)) }
    if hasOwnClasses { return overFoundation(configuration, connection) }
    var settings = connection
    if connection.connectionLimitPerHost == ConnectionConfiguration().connectionLimitPerHost {
      let limit = configuration.httpMaximumConnectionsPerHost
      settings.connectionLimitPerHost = limit > 0 ? limit : nil
    }
    if connection.proxy.isEnvironment, let proxy = proxy(configuration.foundationProxies) { settings.proxy = proxy }
    settings.serviceClass = connection.serviceClass ?? configuration.networkServiceType.serviceClass
    return IdentifiedTransport(settings)
  }

  /// Returns the proxy of a `connectionProxyDictionary`; nil without a dictionary, so that the environment decides. One
  /// proxy is used for all URLs: that for https, otherwise that for http, otherwise SOCKS. A dictionary without any of
  /// these, such as an empty one, means that no proxy is used.
  private static func proxy(_ dictionary: [AnyHashable: Any]?) -> Proxy? {
    guard let dictionary else { return nil }
    func server(_ name: String) -> (host: String, port: Int)? {
      guard (dictionary["\(name)Enable"] as? NSNumber)?.boolValue ?? (dictionary["\(name)Enable"] as? Bool) ?? false,
        let host = dictionary["\(name)Proxy"] as? String
      else { return nil }
      return (host, dictionary["\(name)Port"] as? Int ?? 80)
    }
    var proxy = Proxy.direct
    if let http = server("HTTPS") ?? server("HTTP") {
      proxy = .http(http.host, port: http.port)
    } else if let socks = server("SOCKS") {
      proxy = .socks5(socks.host, port: socks.port)
    }
    if let exceptions = dictionary["ExceptionsList"] as? [String] { proxy = proxy.bypassing(exceptions) }
    return proxy
  }
}

extension URLRequest.NetworkServiceType {
  /// The class of RFC 4594 for this use; nil for `.default`. Apple's kernel has the same codepoints for voice and video
  /// (XNU, `bsd/netinet/in_tclass.c`). For background transfers and the signaling of calls it has AF11 and CS3, which
  /// the Wi-Fi networks of one vendor expect.
  var serviceClass: ServiceClass? {
    switch self {
    case .voice: .telephony
    case .voip, .networkServiceTypeCallSignaling: .signaling
    case .video: .multimediaConferencing
    case .background: .lowPriorityData
    default: nil
    }
  }
}
#else
extension SAPTransport {
  /// Returns Foundation's transport.
  static func transport(
    for configuration: URLSessionConfiguration, _ connection: ConnectionConfiguration
  ) -> any Transport {
    overFoundation(configuration, connection)
  }
}
#endif
