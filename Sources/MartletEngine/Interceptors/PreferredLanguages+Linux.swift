#if !canImport(Darwin)
import MartletSemantics

extension PreferredLanguages {
  static var current: [String] { named(in: ProcessInfo.processInfo.environment) }
}
#endif
