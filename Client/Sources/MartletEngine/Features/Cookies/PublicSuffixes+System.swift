public import MartletSemantics

#if os(Linux)
import CPSL

extension PublicSuffixes {
  /// The system's Public Suffix List, including private registries such as `github.io`: the newer of the file that the
  /// distribution updates and the list built into libpsl. It is read at first use.
  public static let system: PublicSuffixes = {
    guard let list = SuffixList() else { return .singleLabels }
    return PublicSuffixes { list.contains($0) }
  }()
}

/// The list of libpsl, loaded once and never released. It does not change, and libpsl only reads it, so any thread may
/// use it. It is stored as an address because a pointer is not `Sendable`.
private struct SuffixList: Sendable {
  private let address: UInt

  /// Loads the list; nil if there is none.
  init?() {
    guard let list = psl_latest(nil) ?? psl_builtin() else { return nil }
    address = UInt(bitPattern: list)
  }

  func contains(_ domain: String) -> Bool { psl_is_public_suffix(OpaquePointer(bitPattern: address), domain) == 1 }
}
#else
extension PublicSuffixes {
  /// A rule instead of the Public Suffix List, which Apple's platforms do not offer: only a name without a dot is a
  /// public suffix. It rejects a cookie for `com`, but not one for `co.uk`. For that, pass a list to the jar.
  public static let system = PublicSuffixes.singleLabels
}
#endif
