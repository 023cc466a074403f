@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// Uses https for hosts that require it (HTTP Strict Transport Security, RFC 6797).
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.strictTransport = StrictTransportSecurity()
/// ```
///
/// When a host has said so in a response over https (`Strict-Transport-Security`), http becomes https in all further
/// URLs of the host before anything is sent, also in redirects, and for its subdomains if it includes them. An explicit
/// port 80 is removed, any other is kept. Each such request reports an ``Event/note(_:)``. A `max-age=0` ends it.
/// Nothing applies to addresses. Connections fail as usual if their certificate is not trusted, and nothing falls back
/// to http.
///
/// A redirect from https to http is refused in any case (``RedirectPolicy``), even to such a host.
///
/// The hosts are in a ``KeyValueStore``: in memory by default, or in a file that several processes share
/// (`SQLiteKeyValueStore`). A request for an http URL reads it; if that fails, so does the request, because it might be
/// one that must not be sent. A store that cannot be written is reported as a note. At most 10,000 hosts are kept; more
/// replace those that expire first.
public final class StrictTransportSecurity: Sendable {
  private let store: any KeyValueStore
  private let preloaded: StrictTransportList
  private let hostLimit: Int
  private let now: @Sendable () -> Date
  /// The policies that were written last, so that not every response writes.
  private let written = Mutex(LRUStorage<String, Entry>(countLimit: 1000))
  /// The number of new hosts since the store was last pruned.
  private let additions = Atomic(0)

  /// Makes it.
  ///
  /// - Parameters:
  ///   - store: keeps the hosts; in memory by default. It may have other values, too: the keys begin with
  ///     `strict-transport `.
  ///   - preloaded: hosts that require https before they have said so; none by default.
  ///   - now: returns the current time; a test can set its own.
  public convenience init(
    store: any KeyValueStore = MemoryKeyValueStore(), preloaded: StrictTransportList = .init(),
    now: @escaping @Sendable () -> Date = { .now }
  ) {
    self.init(store: store, preloaded: preloaded, hostLimit: 10_000, now: now)
  }

  init(
    store: any KeyValueStore, preloaded: StrictTransportList = .init(), hostLimit: Int,
    now: @escaping @Sendable () -> Date = { .now }
  ) {
    (self.store, self.preloaded, self.hostLimit, self.now) = (store, preloaded, hostLimit, now)
  }

  /// What the store has for a host.
  struct Entry: Sendable, Hashable {
    /// Seconds since 1970.
    var expiry: Int
    var includesSubdomains: Bool

    init(expiry: Int, includesSubdomains: Bool) {
      (self.expiry, self.includesSubdomains) = (expiry, includesSubdomains)
    }

    init?(_ data: Data) {
      let words = String(decoding: data, as: UTF8.self).split(separator: " ")
      guard words.count == 2, let expiry = Int(words[0]), words[1] == "0" || words[1] == "1" else { return nil }
      self.init(expiry: expiry, includesSubdomains: words[1] == "1")
    }

    var data: Data { Data("\(expiry) \(includesSubdomains ? 1 : 0)".utf8) }
  }

  private static let prefix = "strict-transport "
}

extension StrictTransportSecurity {
  /// Whether requests to a host use https.
  ///
  /// - Throws: the error of the store.
  public func requiresHTTPS(_ host: String) async throws -> Bool {
    if preloaded.contains(host) { return true }
    for (index, name) in StrictTransportPolicy.candidates(for: host).enumerated() {
      guard let entry = try await store.value(for: Self.prefix + name).flatMap(Entry.init) else { continue }
      if entry.expiry > seconds, index == 0 || entry.includesSubdomains { return true }
    }
    return false
  }

  /// Returns the URL with which a request is sent: with https if its host requires it, otherwise unchanged.
  ///
  /// - Throws: the error of the store.
  public func upgraded(_ url: URL) async throws -> URL {
    guard let origin = Origin(url), !origin.isSecure, try await requiresHTTPS(origin.host) else { return url }
    return StrictTransportPolicy.upgraded(url) ?? url
  }

  /// Takes what a host has announced (§8.1). Does nothing for http, and for an address.
  ///
  /// - Throws: the error of the store.
  public func receive(_ fields: HTTPFields, from url: URL) async throws {
    guard let policy = StrictTransportPolicy(in: fields), let origin = Origin(url), origin.isSecure,
      let host = StrictTransportPolicy.candidates(for: origin.host).first
    else { return }
    guard policy.maximumAge > 0 else {
      written.withLock { _ = $0.remove(host) }
      return try await store.removeValue(for: Self.prefix + host)
    }
    let entry = Entry(expiry: seconds + policy.maximumAge, includesSubdomains: policy.includesSubdomains)
    let last = written.withLock { $0.use(host) }
    // Its expiry moves with each response; it is written after a twentieth of its time, or a day.
    let step = min(policy.maximumAge / 20, 86_400)
    if let last, last.includesSubdomains == entry.includesSubdomains, (0...step).contains(entry.expiry - last.expiry) {
      return
    }
    try await store.set(entry.data, for: Self.prefix + host)
    written.withLock { _ = $0.set(entry, for: host) }
    if last == nil, additions.add(1, ordering: .relaxed).newValue % 100 == 0 { try await prune() }
  }

  /// Forgets all hosts, except the preloaded ones.
  ///
  /// - Throws: the error of the store.
  public func removeAll() async throws {
    written.withLock { _ = $0.removeAll { _ in true } }
    for key in try await store.keys() where key.hasPrefix(Self.prefix) { try await store.removeValue(for: key) }
  }

  /// Removes hosts beyond the limit: those that have expired, then those that expire first.
  private func prune() async throws {
    let keys = try await store.keys().filter { $0.hasPrefix(Self.prefix) }
    guard keys.count > hostLimit else { return }
    var expiries: [(key: String, expiry: Int)] = []
    for key in keys { expiries.append((key, try await store.value(for: key).flatMap(Entry.init)?.expiry ?? 0)) }
    expiries.sort { $0.expiry < $1.expiry }
    let surplus = max(keys.count - hostLimit, expiries.count { $0.expiry <= seconds })
    for (key, _) in expiries.prefix(surplus) { try await store.removeValue(for: key) }
  }

  private var seconds: Int { Int(now().timeIntervalSince1970) }
}

/// Changes http to https before all other interceptors, so that they see the URL that is sent.
struct StrictTransportUpgrade: Interceptor {
  let security: StrictTransportSecurity

  var stages: InterceptorStages { .prepare }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let origin = request.origin, !origin.isSecure else { return .send(request) }
    let url: URL
    do { url = try await security.upgraded(request.url) } catch {
      throw HTTPError(
        .file, "\(origin.authority): it is not known whether it requires https, because the store cannot be read",
        phase: .preparing, underlying: error)
    }
    guard url != request.url else { return .send(request) }
    call.emit(.note("\(origin.authority): https in place of http, which its Strict-Transport-Security requires"))
    var request = request
    request.url = url
    return .send(request)
  }
}

/// Takes what hosts announce, before redirects are followed.
struct StrictTransportObservation: Interceptor {
  let security: StrictTransportSecurity

  var stages: InterceptorStages { .review }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, response.source == .network || response.source == .revalidated,
      response.fields.contains("Strict-Transport-Security")
    else { return .accept }
    do { try await security.receive(response.fields, from: response.url) } catch {
      call.emit(.note("the Strict-Transport-Security of \(response.url.redacted) was not stored: \(error)"))
    }
    return .accept
  }
}
