#if os(Linux)
import CSockets
import Glibc
package import MartletSemantics

extension IPAddress {
  /// Parses a literal whose zone may be the name of an interface (`fe80::1%eth0`).
  ///
  /// - Parameter text: the literal, without brackets. nil is returned for any other text, and if no interface has the
  ///   zone's name.
  package init?(_ text: some StringProtocol) {
    self.init(literal: text) { name in
      if let index = Self.zoneIndex(name) { return index }
      guard !name.isEmpty, !name.utf8.contains(0), !name.utf8.allSatisfy(ASCII.isDigit) else { return nil }
      let index = if_nametoindex(name)
      return index == 0 ? nil : index
    }
  }
}
#endif
