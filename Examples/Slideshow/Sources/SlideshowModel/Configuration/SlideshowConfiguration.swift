package import MartletSemantics

/// The source of the slideshow. Both URLs are configured, never written into the program.
package struct SlideshowConfiguration: Sendable, Hashable {
  /// The URL of the JSON.
  package let service: URL
  /// The URL of the folder of the images.
  package let imageBase: URL
  /// Whether plain http may leave this computer.
  package let allowsInsecure: Bool

  /// The URL of the JSON in a form for display: without user information.
  package var shownService: String { service.shown }

  /// The names with which the URLs are configured.
  package enum Key: String, Sendable, Hashable, CaseIterable {
    case service = "SlideWebServiceUrl"
    case imageBase = "ImageBaseUrl"

    /// The option of the command line.
    package var option: String { self == .service ? "--service" : "--images" }
  }

  /// Checks the configuration.
  ///
  /// - Parameters:
  ///   - file: the path of the property list, for errors; nil if there is none.
  ///   - value: returns the value configured for a key, nil if there is none. An empty text counts as no value.
  /// - Throws: `noUrlDefinedInInfoPropertyList` or `invalidURL`.
  package init(
    allowsInsecure: Bool = false, file: String? = nil, value: (Key) -> String?
  ) throws(SlideshowError) {
    self.allowsInsecure = allowsInsecure
    func url(_ key: Key) throws(SlideshowError) -> URL {
      let text = value(key)?.trimmingPrefix(while: \.isWhitespace) ?? ""
      guard !text.isEmpty else { throw .noUrlDefinedInInfoPropertyList(key, file: file) }
      return try Self.url(key, String(text), allowsInsecure: allowsInsecure)
    }
    service = try url(.service)
    imageBase = try url(.imageBase)
  }

  private static func url(_ key: Key, _ text: String, allowsInsecure: Bool) throws(SlideshowError) -> URL {
    guard let url = URL(string: text, encodingInvalidCharacters: false) else {
      throw .invalidURL(key, value: text, reason: "it is not a URL; percent-encode spaces and other unusual bytes")
    }
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw .invalidURL(key, value: text, reason: "it must begin with http:// or https://")
    }
    guard let host = url.host, !host.isEmpty else {
      throw .invalidURL(key, value: text, reason: "it names no host")
    }
    guard allowsInsecure || PlainHTTP.isAllowed(for: url) else {
      throw .invalidURL(key, value: url.shown, reason: PlainHTTP.refusal)
    }
    return url
  }
}
