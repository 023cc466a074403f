import MartletSemantics

/// Says which languages the user reads, best first: `Accept-Language` (RFC 9110 §12.5.4).
///
/// It replaces what a request has in that field. Tags are those of BCP 47; `en_US` is understood as `en-US`. Each language
/// is wanted a little less than the one before it: `de-CH, fr;q=0.9, en;q=0.8`.
public struct LanguageInterceptor: Interceptor {
  private let value: String?

  /// Makes an interceptor with the languages that the process was started with: on Linux those of `LANGUAGE`, `LC_ALL`,
  /// `LC_MESSAGES` and `LANG`. Where there are none, no field is sent and requests keep their own.
  public init() {
    let tags = PreferredLanguages.current.compactMap { LanguageTag.normalized($0) }
    value = tags.isEmpty ? nil : LanguageTag.acceptLanguage(tags)
  }

  /// Makes an interceptor with these languages, best first; without any it does nothing.
  ///
  /// - Throws: `HTTPError` of kind `.invalidRequest` if one of them is no language tag.
  public init(_ languages: [String]) throws(HTTPError) {
    var tags: [String] = []
    for language in languages {
      guard let tag = LanguageTag.normalized(language) else {
        throw HTTPError(
          .invalidRequest,
          "\(String(reflecting: language)) is no language: use a tag of BCP 47 such as en, en-US or zh-Hant",
          phase: .preparing)
      }
      tags.append(tag)
    }
    value = tags.isEmpty ? nil : LanguageTag.acceptLanguage(tags)
  }

  public func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard let value else { return request }
    var request = request
    request.fields[.acceptLanguage] = value
    return request
  }
}
