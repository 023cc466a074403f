/// The language tags of `Accept-Language` (RFC 9110 §12.5.4, RFC 5646).
package enum LanguageTag {
  /// Returns the tag in conventional case, `de-Latn-CH`; nil if the text is not a language tag.
  ///
  /// Underscores count as hyphens, because platforms write `en_US`. The subtags are not looked up in a registry.
  package static func normalized(_ text: some StringProtocol) -> String? {
    if text == "*" { return "*" }
    let subtags = text.utf8.split(omittingEmptySubsequences: false) {
      $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
    }
    guard let language = subtags.first, language.allSatisfy(ASCII.isLetter), !language.isEmpty,
      subtags.allSatisfy({ isSubtag($0) })
    else { return nil }
    var isPrivate = false
    let written = subtags.enumerated().map { index, subtag in
      defer { isPrivate = isPrivate || subtag.count == 1 }
      let text = ASCII.lowercased(String(decoding: Array(subtag), as: UTF8.self))
      return index == 0 || isPrivate ? text : usualCase(of: text)
    }
    return written.joined(separator: "-")
  }

  /// Returns the value of `Accept-Language` for the tags, in descending preference. Repeated tags are omitted.
  ///
  /// The weights decrease by 0.1, down to 0.1: 0 would mean that a language is not acceptable.
  package static func acceptLanguage(_ tags: [String]) -> String {
    var seen: Set<String> = []
    let unique = tags.filter { seen.insert($0).inserted }
    return unique.enumerated()
      .map { index, tag in index == 0 ? tag : "\(tag);q=0.\(max(1, 10 - index))" }
      .joined(separator: ", ")
  }

  /// Applies the case of RFC 5646 §2.1.1: regions in upper case, scripts in title case, other subtags in lower case.
  private static func usualCase(of subtag: String) -> String {
    switch subtag.utf8.count {
    case 2: subtag.uppercased()
    case 4 where subtag.utf8.allSatisfy(ASCII.isLetter): subtag.prefix(1).uppercased() + subtag.dropFirst()
    default: subtag
    }
  }

  /// `alphanum{1,8}`.
  private static func isSubtag(_ bytes: some Collection<UInt8>) -> Bool {
    (1...8).contains(bytes.count) && bytes.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) }
  }
}
