#if os(Linux)
@_spi(Toolkit) package import MartletEngine
@_spi(Toolkit) import MartletSemantics

extension SocketTransport {
  /// Settings that only this transport has. They apply to all requests of a transport. Transports share no connections:
  /// use one transport for each set of options. The options are copied when the transport is made.
  ///
  /// If a setting is not valid, every request fails with ``Martlet/HTTPError/Kind/invalidRequest``; the error names the
  /// setting.
  ///
  /// ```swift
  /// var options = SocketTransport.Options()
  /// options.addresses = ["api.example.com": ["192.0.2.7", "2001:db8::7"], "api.example.com:8443": ["127.0.0.1"]]
  /// let session = HTTPSession(transport: SocketTransport(options: options))
  /// ```
  public struct Options: Sendable {
    /// The addresses of hosts, keyed by `host` or, for a single port, by `host:port`. They replace the name lookup, for
    /// proxies too, and an entry with a port takes precedence over one without. None by default.
    public var addresses: [String: [String]] = [:]
    /// Resolves names in place of the system's resolver. Returns IPv4 and IPv6 addresses as text, in the order in which
    /// to try them. nil, the default, uses the system's resolver.
    ///
    /// It is not called for addresses, `localhost`, names below `onion`, or hosts in ``addresses``. Requests for the
    /// same name share a result, which is kept for 60 seconds; a failure is kept for one second. At most 64 names with
    /// waiting requests are resolved at the same time. The resolver must not send requests with the same transport:
    /// they would wait for the resolver itself. If it throws, requests fail with
    /// ``Martlet/HTTPError/Kind/cannotResolveHost``.
    public var resolver: Resolve?
    /// How long ``resolver`` may take for a name; 10 seconds by default.
    public var resolverTimeout = Duration.seconds(10)
    /// The IP address of this machine from which connections are made, such as `192.0.2.1`. Only server addresses of
    /// the same IP version are used. nil by default: the system chooses one for each connection.
    public var localAddress: String?
    /// The path of a Unix socket to which all connections are made, whatever the host. Proxies are then not used. nil
    /// by default. The path has at most 107 bytes.
    public var unixSocket: String?
    /// How long the thread that sends a request may block while it waits for the response, before the task is
    /// suspended; 4 milliseconds by default, at most 10 milliseconds. With zero, no thread blocks.
    ///
    /// A thread waits only if its request is the transport's only one, uses HTTP/1.1, and the last request on the
    /// connection took less than 200 microseconds, or than this time if it is shorter. With a server nearby, such as a
    /// proxy on the same machine, suspending the task and waking a thread takes longer than the response. The whole
    /// time passes only if a server that has been fast is slow this once: it is as long as a tick of most systems'
    /// clocks, because a shorter wait needs a timer of its own, which costs more than the wait. The thread does no
    /// other work while it waits. Another request ends the wait at once, and no thread waits during the next 50
    /// milliseconds.
    ///
    /// The thread that receives from a WebSocket waits in the same way if the program has sent something, and the
    /// server has answered the last message that fast.
    ///
    /// Of the process's processors, one is always left to other tasks: on two of them, only one thread waits at a time,
    /// and on one none. The process's affinity and its control group's quota are checked when the transport is made.
    public var blockingWait = Duration.milliseconds(4)
    /// How long an idle HTTP/2 connection may be silent before a PING tests it ahead of its next use: a router on the
    /// way may have forgotten it. 15 seconds by default.
    package var silenceLimit = Duration.seconds(15)
    /// How long requests wait for the answer to a PING before they get another connection; half a second by default.
    package var probePatience = Duration.milliseconds(500)
    /// How long the answer may take before the connection is closed; 5 seconds by default.
    package var probeTimeout = Duration.seconds(5)
    /// How long the system waits for a peer to acknowledge anything before it gives up the connection; a minute by
    /// default, and longer for a request with a longer response timeout.
    package var acknowledgementTimeout = Duration.seconds(60)
    /// How long a WebSocket's stream that its user has left waits until the server ends it or makes room for more of
    /// the last bytes; one second by default, and at most 30 times as long in all.
    package var lingeringTime = Duration.seconds(1)

    /// The threads of TLS handshakes; by default those of all transports.
    package var handshakeThreads = WorkerThreads.handshakes

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
        .invalidRequest, "blockingWait is \(Quantity.text(options.blockingWait)): it is from zero to 10 milliseconds",
        phase: .preparing)
    }
    let processors = Processors.available()
    blockingWait = options.blockingWait.nanoseconds
    waitingThreads = options.blockingWait > .zero ? processors - 1 : 0
    requestsDuringLoan = processors > 1 ? 3 : 0
    silenceLimit = options.silenceLimit.nanoseconds
    probePatience = options.probePatience.nanoseconds
    probeTimeout = options.probeTimeout.nanoseconds
    acknowledgementTimeout = options.acknowledgementTimeout.nanoseconds
    lingeringTime = options.lingeringTime.nanoseconds
    handshakeThreads = options.handshakeThreads
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
