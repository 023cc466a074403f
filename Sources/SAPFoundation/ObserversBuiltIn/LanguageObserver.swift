package import MartletEngine
import MartletSemantics
import Synchronization

/// Says which language the user reads: `Accept-Language`, in the place of whatever a request says there.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(LanguageObserver())            // the device's languages
/// session.register(LanguageObserver(language: "de_CH"))   // de-CH
/// ```
public final class LanguageObserver: SAPURLSessionObserving, Sendable {
  private let choice: Mutex<String?>

  /// The language, in whichever form platforms write it: `de-CH`, `de_CH`, `de_CH.UTF-8@euro`. nil, the default, means those of
  /// the device, best first; where there are none, as in many containers, requests keep what they say. A change holds for
  /// the next attempt. A text that is no language fails the request, with an error that says so.
  public var language: String? {
    get { choice.withLock { $0 } }
    set { choice.withLock { $0 = newValue } }
  }

  /// Makes an observer; by default for the languages of the device.
  public init(language: String? = nil) { choice = Mutex(language) }

  /// An observer for the same language.
  public func copy() -> Any? { LanguageObserver(language: language) }
}

extension LanguageObserver: InterceptingObserver {
  package var interceptor: any Interceptor { LanguageChoice(language: language) }
}

private struct LanguageChoice: Interceptor {
  let language: String?

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    let chosen = try language.map { language in
      // encoding and variant of a POSIX locale are none of the language
      try LanguageInterceptor([String(language.prefix { $0 != "." && $0 != "@" })])
    }
    return try await (chosen ?? LanguageInterceptor()).prepare(request, in: exchange)
  }
}
