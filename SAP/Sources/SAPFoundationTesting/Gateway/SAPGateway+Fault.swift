extension SAPGateway {
  /// A fault that a request chooses by its name.
  @nonexhaustive public enum Fault: String, Sendable, Hashable, CaseIterable {
    /// The session of the request has ended: its cookie and token are invalid.
    case sessionExpired = "session-expired"
    /// A session ends with its third request.
    case sessionShort = "session-short"
    /// Each request opens a session of its own, so that no CSRF token fits.
    case sessionPerRequest = "session-per-request"
    /// 400 `Session timed out`, as ABAP says it.
    case sessionTimedOut = "session-timed-out"
    /// The CSRF token changes with every write.
    case csrfChanges = "csrf-changes"
    /// 403 with `X-CSRF-Token: Required` for every write.
    case csrfRefused = "csrf-refused"
    /// No CSRF tokens: none is given, none is needed.
    case csrfNone = "csrf-none"
    /// A SAML sign-in page, with 200.
    case saml
    /// The page that asks for a one-time code, with 200.
    case oneTimeCode = "otp"
    /// 403 with `x-message-code: TRAFFIC_BLOCKED`.
    case blocked
    /// 403 with `x-message-code: TRAFFIC_REG_LOCKED`.
    case locked
    /// 403 with `x-message-code: TRAFFIC_REG_WIPED`.
    case wiped
    /// 401 for a bearer token, with `invalid_token`.
    case tokenExpired = "token-expired"
    /// 400 `invalid_grant` for every refresh token.
    case refreshRefused = "refresh-refused"
    /// `x-app-version-inactive: true` in the response.
    case versionInactive = "version-inactive"
    /// 400 for a log upload, as for lines of another format.
    case logsInvalid = "logs-invalid"
    /// 403 for a log upload, as if uploads were switched off.
    case logsOff = "logs-off"
    /// 404 for a log upload, as for an unknown app.
    case logsUnknown = "logs-unknown"
    /// 403 from the role service, as without a required role.
    case rolesMissing = "roles-missing"
    /// A text that is not JSON from the role service.
    case rolesInvalid = "roles-invalid"
    /// 404 from the settings.
    case settingsMissing = "settings-missing"
    /// A text that is not JSON from the settings.
    case settingsInvalid = "settings-invalid"
    /// The settings want passcodes of 12 characters with a digit.
    case policyStrict = "policy-strict"
    /// The settings have a passcode policy that cannot be read.
    case policyInvalid = "policy-invalid"
    /// The settings lock apps without contact after 1 day, and wipe them after 20.
    case policyDisconnect = "policy-disconnect"
    /// 404 from the destinations.
    case destinationsMissing = "destinations-missing"
    /// 404 for a push registration, as if push were switched off.
    case pushOff = "push-off"
    /// Media are fresh for 5 seconds: `max-age=5`.
    case mediaBrief = "media-brief"
    /// Media are checked each time by their ETag: `no-cache`.
    case mediaChecked = "media-checked"
    /// Media are stale at once, but usable on errors: `max-age=0, stale-if-error=86400`.
    case mediaStale = "media-stale"
    /// Media must not be stored: `no-store`.
    case mediaUnstored = "media-unstored"
    /// 400 with an OData V2 error.
    case errorV2 = "error-v2"
    /// 400 with an OData V4 error.
    case errorV4 = "error-v4"
    /// 400 with an OData V2 error in XML.
    case errorXML = "error-xml"
    /// 500 with an HTML page of the web server.
    case errorPage = "error-page"
    /// A warning in `sap-message`, below /odata/v4 in `sap-messages`.
    case warning
    /// 503 with `Retry-After: 1`.
    case unavailable
    /// The reply is delayed by 2 seconds.
    case slow
    /// The connection is closed after 10 bytes of the body.
    case truncated
    /// The connection is reset instead of a response.
    case reset
    /// The connection is closed instead of a response.
    case hangUp = "hang-up"

    /// What it does, in a line.
    public var summary: String {
      switch self {
      case .sessionExpired: "the session of the request has ended: its cookie and token are invalid"
      case .sessionShort: "a session ends with its third request"
      case .sessionPerRequest: "each request opens a session of its own, so that no CSRF token fits"
      case .sessionTimedOut: "400 'Session timed out', as ABAP says it"
      case .csrfChanges: "the CSRF token changes with every write"
      case .csrfRefused: "403 with 'X-CSRF-Token: Required' for every write"
      case .csrfNone: "no CSRF tokens: none is given, none is needed"
      case .saml: "a SAML sign-in page, with 200"
      case .oneTimeCode: "the page that asks for a one-time code, with 200"
      case .blocked: "403 with 'x-message-code: TRAFFIC_BLOCKED'"
      case .locked: "403 with 'x-message-code: TRAFFIC_REG_LOCKED'"
      case .wiped: "403 with 'x-message-code: TRAFFIC_REG_WIPED'"
      case .tokenExpired: "401 for a bearer token, with 'invalid_token'"
      case .refreshRefused: "400 'invalid_grant' for every refresh token"
      case .versionInactive: "'x-app-version-inactive: true' in the response"
      case .logsInvalid: "400 for a log upload, as for lines of another format"
      case .logsOff: "403 for a log upload, as if uploads were switched off"
      case .logsUnknown: "404 for a log upload, as for an unknown app"
      case .rolesMissing: "403 from the role service, as without a required role"
      case .rolesInvalid: "a text that is not JSON from the role service"
      case .settingsMissing: "404 from the settings"
      case .settingsInvalid: "a text that is not JSON from the settings"
      case .policyStrict: "the settings want passcodes of 12 characters with a digit"
      case .policyInvalid: "the settings have a passcode policy that cannot be read"
      case .policyDisconnect: "the settings lock apps without contact after 1 day, and wipe them after 20"
      case .destinationsMissing: "404 from the destinations"
      case .pushOff: "404 for a push registration, as if push were switched off"
      case .mediaBrief: "media are fresh for 5 seconds: 'max-age=5'"
      case .mediaChecked: "media are checked each time by their ETag: 'no-cache'"
      case .mediaStale: "media are stale at once, but usable on errors: 'max-age=0, stale-if-error=86400'"
      case .mediaUnstored: "media must not be stored: 'no-store'"
      case .errorV2: "400 with an OData V2 error"
      case .errorV4: "400 with an OData V4 error"
      case .errorXML: "400 with an OData V2 error in XML"
      case .errorPage: "500 with an HTML page of the web server"
      case .warning: "a warning in 'sap-message', below /odata/v4 in 'sap-messages'"
      case .unavailable: "503 with 'Retry-After: 1'"
      case .slow: "the reply is delayed by 2 seconds"
      case .truncated: "the connection is closed after 10 bytes of the body"
      case .reset: "the connection is reset instead of a response"
      case .hangUp: "the connection is closed instead of a response"
      }
    }

    /// The value of `x-message-code` for a user who may not use the app.
    var messageCode: String? {
      switch self {
      case .blocked: "TRAFFIC_BLOCKED"
      case .locked: "TRAFFIC_REG_LOCKED"
      case .wiped: "TRAFFIC_REG_WIPED"
      default: nil
      }
    }

    /// The value of `Cache-Control` for media.
    var cacheControl: String? {
      switch self {
      case .mediaBrief: "private, max-age=5"
      case .mediaChecked: "private, no-cache"
      case .mediaStale: "private, max-age=0, stale-if-error=86400"
      case .mediaUnstored: "no-store"
      default: nil
      }
    }
  }
}
