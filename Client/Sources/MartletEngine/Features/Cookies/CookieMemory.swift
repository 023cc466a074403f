@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The state in memory that a jar and the jars of its partitions share.
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
  /// The sign-outs of all processes when a call began.
  let seenSignOuts = CallLocal<SharedSignOuts?>(nil)

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

/// The sign-outs of the last 1,024 partitions. Of the forgotten ones, only the time of the latest is kept, and it
/// applies to every partition: calls that began before it ended long ago.
struct PartitionSignOuts {
  /// By ``CookieJar/partitionSuffix``, in the order of the sign-outs.
  private var signOuts = LRUStorage<String, SignOutMark>(countLimit: 1024)
  private var forgotten: UInt64 = 0

  mutating func set(_ suffix: String) {
    let signOut = SignOutMark()
    signOut.set()
    for oldest in signOuts.set(signOut, for: suffix) { forgotten = max(forgotten, oldest.last) }
  }

  func isAfter(_ begun: UInt64, _ suffix: String) -> Bool {
    begun < forgotten || signOuts.value(for: suffix)?.isAfter(begun) == true
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
