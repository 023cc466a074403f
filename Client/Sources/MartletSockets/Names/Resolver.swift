#if os(Linux)
import CSockets
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Finds the addresses of hosts.
///
/// | host | addresses |
/// |---|---|
/// | named in ``ResolveOverrides`` | the override's addresses |
/// | an address | itself |
/// | `localhost`, `*.localhost` | `::1` and `127.0.0.1`, without DNS (RFC 6761 §6.3) |
/// | `*.onion` | none: such names must not reach DNS (RFC 7686 §2) |
/// | any other name | the results of the look-up, shared and kept as ``LookUpTable`` says |
///
/// Errors are ``HTTPError/Kind/cannotResolveHost``.
final class Resolver: Sendable {
  /// Looks a name up and may block the thread.
  typealias BlockingLookUp = @Sendable (_ host: String) -> LookUpResult
  /// Looks a name up in a task.
  typealias AsyncLookUp = @Sendable (_ host: String) async throws -> [IPAddress]
  /// Receives the addresses on the thread of the look-up. It must return quickly.
  typealias Completion = @Sendable (Result<[SocketAddress], HTTPError>) -> Void

  /// The source of addresses.
  enum Source: Sendable {
    /// A blocking function such as `getaddrinfo`, on at most 32 threads, which end when they have nothing to do. If no
    /// caller waits for a thread's result any more, another thread replaces it; there are at most 128 in all.
    case blocking(BlockingLookUp)
    /// A resolver of the caller, abandoned after a time limit. At most 64 names with waiting callers are resolved at
    /// the same time, and 256 in all.
    case async(AsyncLookUp, limit: Duration, clock: any Clock<Duration>)

    /// The system's `getaddrinfo`.
    static let system = Source.blocking(SystemLookUp.addresses)

    fileprivate var workerLimit: Int { if case .blocking = self { 32 } else { 64 } }
  }

  /// The immediate answer to a look-up.
  enum Answer: Sendable {
    case known(Result<[SocketAddress], HTTPError>)
    /// The completion will be called later.
    case pending(Pending)
  }

  /// A look-up that a caller waits for.
  struct Pending: Sendable, Hashable {
    fileprivate let host: String
    fileprivate let id: Int
  }

  private struct Waiter: Sendable {
    let host: String
    let port: UInt16
    let completion: Completion
  }

  private let overrides: ResolveOverrides
  private let source: Source
  private let now: @Sendable () -> UInt64
  private let table: Mutex<LookUpTable<Waiter>>
  private let lastID = Atomic<Int>(0)

  /// Makes a resolver without known names.
  ///
  /// - Parameters:
  ///   - source: looks up names; `getaddrinfo` by default.
  ///   - overrides: addresses that take precedence over it.
  ///   - lifetime: the lifetime of connections in nanoseconds, for ``LookUpTable``; nil for no limit.
  ///   - now: returns the time in nanoseconds of a clock that never goes back.
  init(
    _ source: Source = .system, overrides: ResolveOverrides = .none, lifetime: UInt64? = nil,
    now: @escaping @Sendable () -> UInt64 = Resolver.monotonicTime
  ) {
    self.source = source
    self.overrides = overrides
    self.now = now
    table = Mutex(LookUpTable(workerLimit: source.workerLimit, connectionLifetime: lifetime))
  }

  /// Finds the addresses of a host. The completion is called unless the addresses are known at once.
  ///
  /// - Parameters:
  ///   - host: a name, or an address with or without brackets.
  ///   - port: the port of the returned addresses.
  func lookUp(_ host: String, port: Int, then completion: @escaping Completion) -> Answer {
    guard let port = UInt16(exactly: port) else {
      return .known(.failure(HTTPError(.invalidRequest, "\(host): \(port) is not a port", phase: .preparing)))
    }
    let name = Self.canonical(host)
    if let known = knownAddresses(of: name, port: port) { return .known(Self.addresses(known, name, port)) }
    let id = lastID.add(1, ordering: .relaxed).newValue
    let waiter = Waiter(host: name, port: port, completion: completion)
    switch table.withLock({ $0.request(name, id: id, waiter: waiter, now: now()) }) {
    case .known(let result): return .known(Self.addresses(result, name, port))
    case .waits(let startsWorker):
      if startsWorker { startWorker() }
      return .pending(Pending(host: name, id: id))
    }
  }

  /// Ends a wait. The completion is no longer called, unless a thread is already about to call it.
  func cancel(_ pending: Pending) {
    if table.withLock({ $0.cancel(pending.id, of: pending.host) }) { startWorker() }
  }

  /// Forgets all results.
  func forget() { table.withLock { $0.forget() } }

  /// Finds the addresses of a host, at least one.
  ///
  /// - Throws: ``HTTPError/Kind/cancelled`` at once if the task is cancelled; otherwise the errors in the type's
  ///   comment.
  func addresses(of host: String, port: Int) async throws(HTTPError) -> [SocketAddress] {
    let result = OneShot<[SocketAddress]>()
    switch lookUp(host, port: port, then: { result.answer($0.mapError { $0 as any Error }) }) {
    case .known(let known): return try known.get()
    case .pending(let pending):
      do { return try await result.wait() } catch {
        cancel(pending)
        var error = HTTPError(wrapping: error)
        error.phase = error.phase ?? .resolving
        throw error
      }
    }
  }

  /// The time of the system's monotonic clock in nanoseconds.
  static let monotonicTime: @Sendable () -> UInt64 = {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

// MARK: - Names that need no look-up

extension Resolver {
  /// Returns the host without brackets and in lower case.
  private static func canonical(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? ASCII.lowercased(host.dropFirst().dropLast()) : ASCII.lowercased(host)
  }

  /// Returns the addresses of a host that needs no look-up; nil for all others.
  private func knownAddresses(of host: String, port: UInt16) -> LookUpResult? {
    if let addresses = overrides.addresses(of: host, port: Int(port)) { return .success(addresses) }
    if let address = IPAddress(host) { return .success([address]) }
    if host.utf8.contains(UInt8(ascii: ":")) {
      let reason =
        host.utf8.contains(UInt8(ascii: "%"))
        ? "not a valid IPv6 address, or no network interface has the name of its zone" : "not a valid IPv6 address"
      return .failure(LookUpFailure(message: reason))
    }
    let labels = host.hasSuffix(".") ? host.dropLast() : host[...]
    if labels == "localhost" || labels.hasSuffix(".localhost") { return .success([.loopback6, .loopback4]) }
    if labels.hasSuffix(".onion") {
      return .failure(
        LookUpFailure(message: "names of Tor are not looked up in DNS (RFC 7686 §2)", underlying: UnknownHostName()))
    }
    guard (1...253).contains(labels.utf8.count), !host.utf8.contains(0) else {
      return .failure(
        LookUpFailure(message: "a name has 1 to 253 bytes (RFC 1035 §2.3.4)", underlying: UnknownHostName()))
    }
    return nil
  }

  private static func addresses(
    _ result: LookUpResult, _ host: String, _ port: UInt16
  ) -> Result<[SocketAddress], HTTPError> {
    result.map { $0.map { SocketAddress($0, port: port) } }.mapError { failure in
      HTTPError(
        .cannotResolveHost, "\(host): cannot resolve the host: \(failure.message)", phase: .resolving,
        underlying: failure.underlying)
    }
  }
}

// MARK: - Threads and tasks

extension Resolver {
  private func startWorker() {
    switch source {
    case .blocking:
      let handedOver = Unmanaged.passRetained(self).toOpaque()
      var thread = pthread_t()
      guard pthread_create(&thread, nil, Self.work, handedOver) == 0 else {
        Unmanaged<Resolver>.fromOpaque(handedOver).release()
        let failure = LookUpFailure(message: "the system cannot start a thread")
        return resume(table.withLock { $0.workerFailed() }, with: .failure(failure))
      }
      pthread_detach(thread)
    case .async(let lookUp, let limit, let clock):
      Task { await work(lookUp, limit, clock) }
    }
  }

  private static let work: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    let resolver = Unmanaged<Resolver>.fromOpaque(handedOver).takeRetainedValue()
    guard case .blocking(let lookUp) = resolver.source else { return nil }
    while let host = resolver.table.withLock({ $0.takeHost() }) { resolver.finish(host, with: lookUp(host)) }
    return nil
  }

  private func work(_ lookUp: @escaping AsyncLookUp, _ limit: Duration, _ clock: any Clock<Duration>) async {
    while let host = table.withLock({ $0.takeHost() }) {
      let result: LookUpResult
      do {
        // As a value, so that the resolver's own error of this kind is not mistaken for that of the limit.
        result = try await Deadline(limit, for: "", on: clock).limiting {
          do {
            return .success(try await lookUp(host))
          } catch {
            // Only our own messages are known to contain no secrets.
            let message = (error as? HTTPError)?.message ?? "the resolver failed, see the underlying error"
            return .failure(LookUpFailure(message: message, underlying: error))
          }
        }
      } catch {
        result = .failure(LookUpFailure(message: "the resolver took longer than \(Quantity.text(limit))"))
      }
      finish(host, with: result)
    }
  }

  private func finish(_ host: String, with result: LookUpResult) {
    let result = result.flatMap { $0.isEmpty ? .failure(LookUpFailure(message: "it has no address")) : .success($0) }
    resume(table.withLock { $0.finish(host, with: result, now: now()) }, with: result)
  }

  private func resume(_ waiters: [Waiter], with result: LookUpResult) {
    for waiter in waiters { waiter.completion(Self.addresses(result, waiter.host, waiter.port)) }
  }
}
#endif
