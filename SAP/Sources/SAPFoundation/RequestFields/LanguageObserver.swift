@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// Sets `Accept-Language` to the user's languages. This replaces a value that the request already has.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(LanguageObserver())            // the device's languages
/// session.register(LanguageObserver(language: "de_CH"))   // de-CH
/// ```
///
/// A subclass may override any callback. ``sapURLSession(_:task:willSend:completionHandler:)`` sets the field: an
/// override that does not call it leaves the request without the field.
open class LanguageObserver: SAPURLSessionObserver {
  private let choice: Mutex<String?>

  /// The language, in any form that platforms use: `de-CH`, `de_CH`, `de_CH.UTF-8@euro`. nil, the default, means the
  /// device's languages in order of preference. If the device has none, as in many containers, ``fallback`` is sent. A
  /// change takes effect with the next attempt. A text that is not a language fails the request with an error that
  /// names it.
  public var language: String? {
    get { choice.withLock { $0 } }
    set { choice.withLock { $0 = newValue } }
  }

  /// The language for a device without one: `en`, which Foundation's `URLSession` sends there, too. Services would
  /// otherwise choose. A request that already has the field keeps it.
  public static let fallback = "en"

  /// Makes an observer; by default for the languages of the device.
  public init(language: String? = nil) { choice = Mutex(language) }

  /// Returns an observer for the same language. A subclass has to override it, because the copy is of this class.
  open override func copy() -> Any? { LanguageObserver(language: language) }

  /// Sets the field.
  open override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    do throws(HTTPError) {
      let chosen = try Self.interceptor(for: language).value
      completionHandler(.allow(Self.setting(chosen, in: request)))
    } catch { completionHandler(.cancel(URLError(error))) }
  }

  /// Returns a request with these languages, or with the fallback if there are none.
  static func setting(_ languages: String?, in request: URLRequest) -> URLRequest {
    let field = SAPURLSession.HTTPHeader.acceptLanguage
    var request = request
    request.setValue(languages ?? request.value(forHTTPHeaderField: field) ?? fallback, forHTTPHeaderField: field)
    return request
  }

  private static func interceptor(for language: String?) throws(HTTPError) -> LanguageInterceptor {
    guard let language else { return LanguageInterceptor() }
    // The encoding and the modifier of a POSIX locale are not part of the language.
    return try LanguageInterceptor([String(language.prefix { $0 != "." && $0 != "@" })])
  }
}
