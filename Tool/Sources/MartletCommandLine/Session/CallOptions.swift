import MartletEngine
import MartletSQLite
@_spi(Toolkit) import MartletSemantics
import MartletSignIn

/// The options for a call's behavior, as a session's configuration.
struct CallOptions {
  private let arguments: ParsedArguments
  private let environment: ToolEnvironment

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) {
    (self.arguments, self.environment) = (arguments, environment)
  }

  func apply(to configuration: inout SessionConfiguration, for url: URL) throws {
    if let timeout = arguments.seconds(.timeout) {
      configuration.options.responseTimeout = timeout
      configuration.options.idleTimeout = timeout
    }
    configuration.options.deadline = arguments.seconds(.deadline)
    try setRates(of: &configuration)
    if arguments.has(.pathAsIs) { configuration.options.keepsDotSegments = true }
    try setRedirects(of: &configuration)
    if let limit = arguments.count(.retry) {
      configuration.options.retryPolicy = RetryPolicy(limit: limit)
      configuration.retryBudget = .unlimited
      configuration.options.downloadResumptions = limit
      configuration.attemptLimit += limit
    }
    try setCache(of: &configuration)
    try addInterceptors(to: &configuration, for: url)
    try SigningOptions(arguments, environment).apply(to: &configuration, for: url)
    // Only without other credentials, which may be those of another user; and only for the URL's own origin, because an
    // entry may apply to every host.
    if configuration.credentials.isEmpty, let netrc = try Netrc(of: arguments, environment) {
      configuration.credentials = [PasswordSource(netrc, for: .origin(of: url), offer: .preemptive)]
    }
  }

  private func setRates(of configuration: inout SessionConfiguration) throws(UsageError) {
    configuration.options.maximumRate = arguments.rate(.limitRate).map { RateShare(bytesPerSecond: $0) }
    guard let rate = arguments.rate(.speedLimit) else {
      if arguments.has(.speedTime) { throw UsageError("--speed-time has no effect alone: add --speed-limit RATE") }
      return
    }
    configuration.options.minimumRate = MinimumRate(
      bytesPerSecond: rate, over: arguments.seconds(.speedTime) ?? .seconds(30))
  }

  private func setRedirects(of configuration: inout SessionConfiguration) throws(UsageError) {
    let limit = arguments.count(.maxRedirects)
    guard arguments.has(.noRedirects) else {
      configuration.options.redirectPolicy.limit = limit ?? configuration.options.redirectPolicy.limit
      configuration.attemptLimit = max(configuration.attemptLimit, (limit ?? 0) + 1)
      return
    }
    for other in [OptionName.follow, .maxRedirects] where arguments.has(other) {
      throw UsageError("--no-redirects and --\(other.rawValue) cannot be combined: leave one out")
    }
    configuration.options.redirectPolicy = .manual
  }

  private func setCache(of configuration: inout SessionConfiguration) throws {
    guard let path = arguments.value(.cache) else {
      if arguments.has(.onlyCached) { throw UsageError("--only-cached answers from a cache: add --cache FOLDER") }
      return
    }
    let folder = environment.file(path)
    try OwnFolder.make(folder)
    configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(component: "responses.sqlite")))
    if arguments.has(.onlyCached) { configuration.options.cachePolicy = .returnCacheDataDontLoad }
  }

  private func addInterceptors(to configuration: inout SessionConfiguration, for url: URL) throws {
    if arguments.has(.correlation) { configuration.interceptors.append(CorrelationInterceptor(trace: .sampled)) }
    if let languages = arguments.value(.language) {
      let list = languages.split(separator: ",").map { String(ASCII.trimmed($0)) }
      configuration.interceptors.append(try LanguageInterceptor(list))
    }
    if let root = arguments.value(.csrf) {
      guard let rootURL = URL(text: root, relativeTo: url) else {
        throw UsageError("--csrf '\(root)' is not a URL: write the root of the service, such as /service/")
      }
      configuration.interceptors.append(CSRFInterceptor(root: rootURL))
    }
  }
}

extension URL {
  /// A URL on the command line: complete, a path of the same server, or without a scheme.
  fileprivate init?(text: String, relativeTo base: URL) {
    if text.hasPrefix("/") {
      guard let url = URL(reference: text, relativeTo: base) else { return nil }
      self = url
    } else {
      guard let url = try? TargetURL.parse(text) else { return nil }
      self = url
    }
  }
}
