@_spi(Credentials) @_spi(Toolkit) import MartletSemantics

/// The response of a device authorization endpoint (RFC 8628 §3.2).
struct DeviceAuthorizationAnswer: Sendable, Decodable {
  let deviceCode: String
  let userCode: String
  let page: URL
  /// The page with the user code in it; nil if there is none.
  let completePage: URL?
  /// The lifetime of the codes in seconds; half an hour if it is unknown (see ``TokenLifetime``).
  let seconds: Double
  /// The seconds between two token requests; 5 if the member is missing or no number. Azure writes it as a text.
  let interval: Double

  private enum Key: String, CodingKey {
    case deviceCode = "device_code"
    case userCode = "user_code"
    case page = "verification_uri"
    case olderPage = "verification_url"
    case completePage = "verification_uri_complete"
    case seconds = "expires_in"
    case interval
  }

  /// A page for the user, as a URL that may have characters that no URL has.
  private struct Page: Decodable {
    let url: URL

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      guard let url = URL(text: try container.decode(String.self)) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "the page is not a URL")
      }
      self.url = url
    }
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    deviceCode = try members.decode(String.self, forKey: .deviceCode)
    userCode = try members.decode(String.self, forKey: .userCode)
    let page = try members.decodeIfPresent(Page.self, forKey: .page) ?? members.decode(Page.self, forKey: .olderPage)
    self.page = page.url  // drafts of the RFC have the older name
    completePage = (try? members.decodeIfPresent(Page.self, forKey: .completePage))?.url
    // Salesforce omits the lifetime, although it is required.
    seconds = try members.decodeIfPresent(TokenLifetime.self, forKey: .seconds)?.seconds ?? 1800
    interval = try members.decodeIfPresent(TokenLifetime.self, forKey: .interval)?.number ?? 5
  }
}

/// Decides when to request the token of a device again (RFC 8628 §3.5).
struct DevicePolling: Sendable, Hashable {
  /// The time before the next token request.
  private(set) var interval: Duration

  /// - Parameter seconds: the interval of the device authorization response. At least one second is kept.
  init(seconds: Double) { interval = .seconds(min(max(seconds, 1), 3600)) }

  /// Returns whether to request the token again after the server has refused it. `slow_down` adds five seconds to this
  /// and all later intervals.
  mutating func continues(after refusal: TokenRefusal) -> Bool {
    switch refusal.code {
    case "authorization_pending": return true
    case "slow_down":
      interval += .seconds(5)
      return true
    default: return false  // access_denied, expired_token
    }
  }

  /// Doubles the interval after a request without a timely response, or whose server was too busy to decide.
  ///
  /// - Parameter pause: the shortest interval that the server has asked for (`Retry-After`); nil for none.
  mutating func backOff(atLeast pause: Duration? = nil) {
    interval = min(max(interval * 2, pause ?? .zero), .seconds(3600))
  }
}
