import MartletSemantics
import Synchronization

/// The state in memory that the jars of one store's partitions share.
final class CookieMemory: Sendable {
  let accesses = Mutex(CookieAccesses())
  /// The values that are paired with CSRF tokens; see ``CookieJar/holdsSession(of:in:)``.
  let paired: Mutex<LRUStorage<PairedCookie, String>>
  /// The sites of hosts. Every request needs one.
  let sites = KnownTexts()
  private let suffixes = KnownTexts()
  /// Set when all cookies are removed.
  let signOut = SignOutMark()
  private let partitionSignOuts = Mutex(PartitionSignOuts())

  /// - Parameter pairLimit: the maximum number of pairs.
  init(pairLimit: Int) { paired = Mutex(LRUStorage(countLimit: pairLimit)) }

  /// A cookie in a partition.
  struct PairedCookie: Hashable {
    let partitionSuffix: String
    let identity: Cookie.Identity
  }

  /// Returns the ``CookieJar/partitionSuffix`` of a partition.
  func suffix(of partition: String) -> String {
    partition.isEmpty ? "" : suffixes.value(for: partition) { "/" + Fingerprint.of(partition) }
  }

  /// Records that the cookies of a partition were removed because its user signs out.
  func noteSignOut(of suffix: String) { partitionSignOuts.withLock { $0.set(suffix) } }

  /// Whether there was a sign-out of a partition after a call began.
  func hasSignedOut(_ suffix: String, since begun: UInt64) -> Bool {
    signOut.isAfter(begun) || partitionSignOuts.withLock { $0.isAfter(begun, suffix) }
  }
}

/// The sign-outs of the partitions. Of the oldest, only the latest is kept and counts for all partitions: their calls
/// ended long ago.
struct PartitionSignOuts {
  /// By ``CookieJar/partitionSuffix``.
  private var signOuts: [String: SignOutMark] = [:]
  private var forgotten: UInt64 = 0
  private static let limit = 1024

  mutating func set(_ suffix: String) {
    let signOut = SignOutMark()
    signOut.set()
    signOuts[suffix] = signOut
    guard signOuts.count > Self.limit else { return }
    let oldest = signOuts.sorted { $0.value.last < $1.value.last }.prefix(Self.limit / 2)
    for (suffix, signOut) in oldest {
      signOuts[suffix] = nil
      forgotten = max(forgotten, signOut.last)
    }
  }

  func isAfter(_ begun: UInt64, _ suffix: String) -> Bool {
    begun < forgotten || signOuts[suffix]?.isAfter(begun) == true
  }
}

/// Computed texts, of which the last few hundred are kept.
final class KnownTexts: Sendable {
  private let known = Mutex(LRUStorage<String, String>(countLimit: 256))

  func value(for key: String, _ make: () -> String) -> String {
    if let value = known.withLock({ $0.use(key) }) { return value }
    let value = make()
    known.withLock { _ = $0.set(value, for: key) }
    return value
  }
}
