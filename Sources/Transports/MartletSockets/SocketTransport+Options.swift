#if os(Linux)
import MartletEngine
import MartletSemantics

extension SocketTransport {
  /// Settings that only this transport has. They are the same for all requests of a transport: use one transport for
  /// each set of them, since transports share no connections. Copied when the transport is made.
  ///
  /// If a setting is not valid, every request fails with ``Martlet/HTTPError/Kind/invalidRequest``, which names it.
  ///
  /// ```swift
  /// var options = SocketTransport.Options()
  /// options.addresses = ["api.example.com": ["192.0.2.7", "2001:db8::7"], "api.example.com:8443": ["127.0.0.1"]]
  /// let session = HTTPSession(transport: SocketTransport(options: options))
  /// ```
  public struct Options: Sendable {
    /// Addresses of hosts, which take precedence over name servers: of `host`, or of `host:port` for that port only,
    /// which takes precedence. None by default. They apply to proxies too.
    public var addresses: [String: [String]] = [:]
    /// Finds the addresses of names in place of the system's resolver: IPv4 and IPv6 addresses as texts, those to be
    /// tried first at the beginning. nil, the default, uses the system's.
    ///
    /// It is not asked for addresses, `localhost`, names below `onion`, and hosts in ``addresses``. Requests for the same
    /// name share an answer, which is kept for 60 seconds, an error for one second. At most 64 names that requests
    /// wait for are asked for at the same time. It must not send requests with the same transport, which would wait for it. If it throws, requests fail with ``Martlet/HTTPError/Kind/cannotResolveHost``.
    public var resolver: Resolve?
    /// How long ``resolver`` may take for a name; 10 seconds by default.
    public var resolverTimeout = Duration.seconds(10)
    /// The IP address of this machine from which connections are made, such as `192.0.2.1`. Only servers' addresses of
    /// its version are used. nil by default: the system chooses one for each connection.
    public var localAddress: String?
    /// The path of a unix socket to which all connections are made, whatever the host; proxies are not used then. nil by
    /// default. It has at most 107 bytes.
    public var unixSocket: String?
    /// For how long the thread of a request may wait for the response before its task is suspended; 200 microseconds by
    /// default, zero for never, at most 10 milliseconds.
    ///
    /// It waits only for the only request of the transport, over HTTP/1.1, on a connection whose last request took less
    /// than this: with a server nearby, such as a proxy on the same machine, to suspend the task and to wake a thread for it
    /// takes longer than the response. It does no work meanwhile, and stops waiting as soon as another request is made; for a
    /// twentieth of a second no thread waits then. None waits in a process that may use one processor only, by its affinity
    /// or the quota of its control group when the transport is made: there it would keep all other tasks from running.
    public var blockingWait = Duration.microseconds(200)
    /// An idle HTTP/2 connection from which nothing came for so long is examined with a PING before it is used, because a
    /// router on the way may have forgotten it. 15 seconds by default.
    package var silenceLimit = Duration.seconds(15)
    /// How long requests wait for the answer to a PING before they get another connection; half a second by default.
    package var examinationPatience = Duration.milliseconds(500)
    /// How long the answer may take before the connection is closed; 5 seconds by default.
    package var examinationTimeout = Duration.seconds(5)
    /// How long the system waits for a peer to acknowledge anything before it gives the connection up; a minute by
    /// default, and longer for a request with a longer response timeout.
    package var acknowledgementTimeout = Duration.seconds(60)

    /// Makes the default options.
    public init() {}

    /// Returns the addresses of a name.
    public typealias Resolve = @Sendable (_ host: String) async throws -> [String]
  }
}

extension ConnectionOptions {
  /// Checks the options of a transport.
  init(_ options: SocketTransport.Options, _ addressRules: AddressRules) throws(HTTPError) {
    self.addressRules = addressRules
    overrides = try ResolveOverrides(options.addresses)
    source =
      options.resolver.map {
        .async(Self.lookUp($0), limit: options.resolverTimeout, clock: ContinuousClock())
      } ?? .system
    localAddress = try options.localAddress.map { text throws(HTTPError) in
      if let address = IPAddress(text) { return address }
      throw HTTPError(.invalidRequest, "the local address '\(text)' is not an IP address", phase: .preparing)
    }
    unixSocket = try options.unixSocket.map { path throws(HTTPError) in try SocketAddress(unixPath: path) }
    guard options.blockingWait >= .zero, options.blockingWait <= .milliseconds(10) else {
      throw HTTPError(
        .invalidRequest, "blockingWait is \(options.blockingWait): it is from zero to 10 milliseconds",
        phase: .preparing)
    }
    blockingWait = Processors.available() > 1 ? options.blockingWait.nanoseconds : 0
    silenceLimit = options.silenceLimit.nanoseconds
    examinationPatience = options.examinationPatience.nanoseconds
    examinationTimeout = options.examinationTimeout.nanoseconds
    acknowledgementTimeout = options.acknowledgementTimeout.nanoseconds
    guard localAddress == nil || unixSocket == nil else {
      throw HTTPError(
        .invalidRequest, "a transport has either a localAddress or a unixSocket, and this one has both",
        phase: .preparing)
    }
  }

  private static func lookUp(_ resolve: @escaping SocketTransport.Options.Resolve) -> Resolver.AsyncLookUp {
    { host in
      try await resolve(host).map { text in
        if let address = IPAddress(text) { return address }
        throw HTTPError(.cannotResolveHost, "the resolver returned '\(text)', which is not an IP address")
      }
    }
  }
}
#endif
