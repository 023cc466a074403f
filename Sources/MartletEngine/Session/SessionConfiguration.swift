/// What a session is made of, besides its transport. Copied when the session is made: later changes have no effect.
public struct SessionConfiguration: Sendable {
  /// What changes requests and reviews outcomes, in this order; see ``Interceptor``. None by default.
  public var interceptors: [any Interceptor] = []
  /// What watches every exchange, in this order; see ``EventListener``. None by default.
  public var listeners: [any EventListener] = []
  /// The options of requests that do not set their own.
  public var options = RequestOptions()
  /// Where answers are kept and looked for; nil for nowhere. By default a cache of this configuration's own, in memory, of
  /// at most 32 MiB. Sessions that are given the same one share it; see ``HTTPCache``.
  public var cache: HTTPCache? = HTTPCache()
  /// How often one exchange may send: the first attempt and all redirects, retries, challenges and other resends
  /// together. 21 by default: one, and twenty more. One more is an error of kind ``HTTPError/Kind/tooManyAttempts``.
  public var attemptLimit = 21
  /// The clock of deadlines and delays; a test may set one that it moves itself.
  public var clock: any Clock<Duration> = ContinuousClock()

  /// Makes the default configuration.
  public init() {}
}
