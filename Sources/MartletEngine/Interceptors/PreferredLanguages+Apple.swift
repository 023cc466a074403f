#if canImport(Darwin)
import MartletSemantics

extension PreferredLanguages {
  static var current: [String] { Locale.preferredLanguages }
}
#endif
