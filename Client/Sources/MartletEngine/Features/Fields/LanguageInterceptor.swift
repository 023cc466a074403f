@_spi(Toolkit) import MartletSemantics

/// Sets `Accept-Language` (RFC 9110 §12.5.4) to the user's languages, in order of preference.
///
/// It replaces the field of a request. Languages are tags of BCP 47; `en_US` is accepted for `en-US`. Each language has
/// a slightly lower weight than the one before it: `de-CH, fr;q=0.9, en;q=0.8`.
public struct LanguageInterceptor: Interceptor {
  /// Only `prepare`.
  public var stages: InterceptorStages { .prepare }

  /// The value of the field; nil to leave it unchanged.
  @_spi(Toolkit) public let value: String?

  /// Makes an interceptor with the user's languages: on Linux those of `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` and `LANG`.
  /// If there are none, requests are not changed.
  public init() {
    let tags = PreferredLanguages.current.compactMap { LanguageTag.normalized($0) }
    value = tags.isEmpty ? nil : LanguageTag.acceptLanguage(tags)
  }

  /// Makes an interceptor with these languages, in order of preference; without any it changes nothing.
  ///
  /// - Throws: `HTTPError` of kind `.invalidRequest` if one of them is not a language tag.
  public init(_ languages: [String]) throws(HTTPError) {
    var tags: [String] = []
    for language in languages {
      guard let tag = LanguageTag.normalized(language) else {
        throw HTTPError(
          .invalidRequest,
          "\(String(reflecting: language)) is not a language: use a tag of BCP 47 such as en, en-US or zh-Hant",
          phase: .preparing)
      }
      tags.append(tag)
    }
    value = tags.isEmpty ? nil : LanguageTag.acceptLanguage(tags)
  }

  @_spi(Toolkit) public func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>?
  {
    if let value { request.fields[.acceptLanguage] = value }
    return nil
  }
}

@_spi(Toolkit) extension LanguageInterceptor: ImmediateInterceptor {}

/// The user's languages, in order of preference.
enum PreferredLanguages {
  #if canImport(Darwin)
  static var current: [String] { Locale.preferredLanguages }
  #else
  static var current: [String] { named(in: ProcessInfo.processInfo.environment) }
  #endif

  /// Returns the languages in the environment of a POSIX process: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that
  /// is set. If that is a language and `LANGUAGE` is set, GNU's list in `LANGUAGE` applies.
  ///
  /// `C` and `POSIX` are not languages. Encoding and variant (`.UTF-8`, `@euro`) are removed.
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
