import MartletSemantics

/// The user's languages, best first.
enum PreferredLanguages {
  /// As the environment of a POSIX process names them: `LANGUAGE` is GNU's list in order of preference and counts only
  /// where a language is set at all; then the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.
  ///
  /// `C` and `POSIX` are no languages. Encoding and variant (`.UTF-8`, `@euro`) are left out.
  static func named(in environment: [String: String]) -> [String] {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    guard let locale, let language = language(of: locale[...]) else { return [] }
    let list = (environment["LANGUAGE"] ?? "").split(separator: ":").compactMap { self.language(of: $0) }
    return list.isEmpty ? [language] : list
  }

  private static func language(of locale: Substring) -> String? {
    let name = locale.prefix { $0 != "." && $0 != "@" }
    return ["", "C", "POSIX"].contains(name) ? nil : String(name)
  }
}
