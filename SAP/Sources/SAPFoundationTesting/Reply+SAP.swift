public import MartletSemantics
public import MartletTesting

// The published responses of Mobile Services, Gateway and the identity providers in front of them.
extension Reply {
  /// 403, because the CSRF token is missing or invalid.
  public static func csrfRequired(status: HTTPStatus = .forbidden) -> Reply {
    .text("CSRF token validation failed", status: status).with("X-CSRF-Token", "Required")
  }

  /// 403, because the user is blocked. The codes are not published; `SAPcpmsUserBlockedObserver` recognizes
  /// `TRAFFIC_BLOCKED`, `REG_BLOCKED` and `TRAFFIC_REG_BLOCKED`.
  public static func blocked(_ code: String = "TRAFFIC_BLOCKED") -> Reply {
    .text("blocked", status: .forbidden).with("x-message-code", code)
  }

  /// 403 without further information.
  public static var forbidden: Reply { .text("Forbidden", status: .forbidden) }

  /// 401 with a challenge for Basic credentials.
  public static var unauthorized: Reply {
    .text("Unauthorized", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="SAP Mobile Services""#)
  }

  /// The SAML sign-in page, with status 200.
  public static var samlLoginPage: Reply {
    .data(Data("<html><head><title>Logon</title></head></html>".utf8), type: "text/html")
      .with("com.sap.cloud.security.login", "login-request")
  }

  /// The page that asks for a one-time password, with status 200.
  public static var otpChallenge: Reply {
    .data(Data("<html><head><title>Passcode</title></head></html>".utf8), type: "text/html")
      .with("x-smp-authentication", "otp-challenge")
  }

  /// The format of an OData error.
  public enum ErrorForm: Sendable, Hashable, CaseIterable {
    /// OData 2.0 in JSON.
    case v2
    /// OData 4.0 in JSON.
    case v4
    /// OData 2.0 in XML.
    case xml

    /// The format that Gateway chooses: JSON only if the request accepts it.
    init(accepting accept: String?) { self = accept?.contains("json") == true ? .v2 : .xml }
  }

  /// An OData error with one detail.
  public static func odataError(
    _ form: ErrorForm, status: HTTPStatus, code: String, message: String, language: String = "en"
  ) -> Reply {
    let (code, text) = (quoted(code), quoted(message))
    let detail = #"{"code":"DETAIL/1","message":"More about it","severity":"error","target":""}"#
    switch form {
    case .v2:
      let inner = #"{"transactionid":"A1B2","timestamp":"20200101000000.0000000","errordetails":[\#(detail)]}"#
      return .json(
        #"{"error":{"code":\#(code),"message":{"lang":"\#(language)","value":\#(text)},"innererror":\#(inner)}}"#,
        status: status)
    case .v4:
      return .json(#"{"error":{"code":\#(code),"message":\#(text),"details":[\#(detail)]}}"#, status: status)
    case .xml:
      let body = """
        <?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">\
        <code>\(escaped(code))</code><message xml:lang="\(language)">\(escaped(text))</message></error>
        """
      return .data(Data(body.utf8), type: "application/xml;charset=utf-8", status: status)
    }
  }

  /// Returns the reply with an OData 2.0 message; `severity` is `success`, `info`, `warning` or `error`.
  public func with(sapMessage text: String, severity: String, code: String = "ZX/100") -> Reply {
    with(
      "sap-message",
      #"{"code":\#(Self.quoted(code)),"message":\#(Self.quoted(text)),"severity":"\#(severity)","details":[]}"#)
  }

  /// Returns the reply with OData 4.0 messages; `severity` is 1 for success, 2 for information, 3 for a warning, 4 for
  /// an error.
  public func with(sapMessages messages: [(text: String, severity: Int)]) -> Reply {
    let list = messages.map {
      #"{"code":"ZX/100","message":\#(Self.quoted($0.text)),"numericSeverity":\#($0.severity)}"#
    }
    return with("sap-messages", "[\(list.joined(separator: ","))]")
  }

  /// Quotes a text as JSON. Control characters, which fields cannot contain, become spaces.
  private static func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar -> String in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case _ where scalar.value < 0x20: " "
      default: String(scalar)
      }
    }
    return "\"\(escaped.joined())\""
  }

  private static func escaped(_ quoted: String) -> String {
    String(quoted.dropFirst().dropLast()).replacing("&", with: "&amp;").replacing("<", with: "&lt;")
  }
}
