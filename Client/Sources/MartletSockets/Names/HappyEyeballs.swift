#if os(Linux)
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The order and timing of connection attempts to the addresses of a host, until the first one succeeds (Happy
/// Eyeballs, RFC 8305). It uses no socket and no clock.
///
/// The owner calls ``next(now:)`` until it returns something other than `.start`, then again after each failure and at
/// the returned time.
///
/// Decisions where the RFC leaves a choice:
/// - Families alternate, beginning with that of the first address (§4, First Address Family Count 1): the resolver has
///   sorted the addresses by RFC 6724.
/// - An attempt starts 250 ms after the previous one (§5), or at once if one has failed.
/// - There is no Resolution Delay (§3): the system's resolver returns both families together.
struct HappyEyeballs {
  enum Action: Equatable {
    /// Open a connection to this address now.
    case start(SocketAddress)
    /// Do nothing before this time, unless an attempt ends; nil if all addresses have been tried and attempts are in
    /// progress.
    case wait(until: UInt64?)
    /// All attempts have failed.
    case giveUp
  }

  /// An attempt that has failed.
  struct Failure: Equatable {
    let address: SocketAddress
    /// The system's message.
    let reason: String
    /// Whether the machine has no network for the address.
    let isNetworkDown: Bool
  }

  /// The Connection Attempt Delay of RFC 8305 §8 in nanoseconds.
  static let standardDelay: UInt64 = 250_000_000

  private let delay: UInt64
  /// The untried addresses, the next one last.
  private var remaining: [SocketAddress]
  /// The attempts in progress, in the order of their start.
  private(set) var attempts: [SocketAddress] = []
  private(set) var failures: [Failure] = []
  /// When the next attempt is due: 0 means at once.
  private var nextStart: UInt64 = 0
  private var isOver = false

  /// Makes a schedule.
  ///
  /// - Parameters:
  ///   - addresses: the addresses in the resolver's order. Repeated ones are tried once.
  ///   - delay: the time between attempts, in nanoseconds; 250 ms by default.
  init(_ addresses: [SocketAddress], delay: UInt64 = Self.standardDelay) {
    self.delay = delay
    remaining = Self.interleaved(addresses).reversed()
  }

  /// Returns what to do at this time (nanoseconds of a clock that never goes back).
  mutating func next(now: UInt64) -> Action {
    if isOver { return .wait(until: nil) }
    guard let address = remaining.last else { return attempts.isEmpty ? .giveUp : .wait(until: nil) }
    guard now >= nextStart || attempts.isEmpty else { return .wait(until: nextStart) }
    remaining.removeLast()
    attempts.append(address)
    let (end, overflows) = now.addingReportingOverflow(delay)
    nextStart = overflows ? .max : end
    return .start(address)
  }

  /// Records that an attempt has failed: the next one may start at once (§5).
  mutating func failed(_ address: SocketAddress, _ reason: String, isNetworkDown: Bool = false) {
    guard let index = attempts.firstIndex(of: address) else { return }
    attempts.remove(at: index)
    failures.append(Failure(address: address, reason: reason, isNetworkDown: isNetworkDown))
    nextStart = 0
  }

  /// Records that an attempt has succeeded and ends the schedule. Returns the other attempts, which have to be
  /// abandoned; nil if this address is not being tried, for example after an earlier success.
  mutating func connected(_ address: SocketAddress) -> [SocketAddress]? {
    guard !isOver, let index = attempts.firstIndex(of: address) else { return nil }
    isOver = true
    attempts.remove(at: index)
    defer { attempts = [] }
    return attempts
  }

  /// Alternates the families, beginning with that of the first address, and drops repeated addresses.
  private static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
    var seen: Set<SocketAddress> = []
    let distinct = addresses.filter { seen.insert($0).inserted }
    let first = distinct.filter { $0.family == distinct.first?.family }
    let second = distinct.filter { $0.family != distinct.first?.family }
    var result: [SocketAddress] = []
    for index in 0..<max(first.count, second.count) {
      if index < first.count { result.append(first[index]) }
      if index < second.count { result.append(second[index]) }
    }
    return result
  }
}

extension HappyEyeballs {
  /// The error after all attempts have failed.
  ///
  /// - Parameter peer: host and port of the request, with which the message begins.
  func error(connectingTo peer: String) -> HTTPError {
    HTTPError(
      .cannotConnect, "\(peer): cannot connect to \(summary)", phase: .connecting,
      underlying: !failures.isEmpty && failures.allSatisfy(\.isNetworkDown) ? NetworkIsDown() : nil)
  }

  /// Returns the error for a connection that took too long.
  func timeout(connectingTo peer: String, after limit: Duration) -> HTTPError {
    HTTPError(
      .connectTimeout, "\(peer): there was no connection within \(Quantity.text(limit)): \(summary)",
      phase: .connecting)
  }

  /// Each address and its result. A host may have many addresses: eight are named.
  private var summary: String {
    var parts: [String] = []
    for failure in failures { parts.append("\(Self.text(failure.address)): \(failure.reason)") }
    for address in attempts { parts.append("\(Self.text(address)): no answer") }
    for address in remaining.reversed() { parts.append("\(Self.text(address)): not tried") }
    let omitted = parts.count - 8
    return parts.prefix(8).joined(separator: "; ") + (omitted > 0 ? "; and \(omitted) more" : "")
  }

  // Not inlined: the optimizer of Swift 6.3.1 crashes on its copies of the address.
  private static func text(_ address: SocketAddress) -> String {
    address.ip.map { "\($0) port \(address.port)" } ?? address.description
  }
}
#endif
