public import Foundation
import MartletSemantics

/// The service shows a page by which a user signs in, with status 200, in the place of what was asked for.
public struct SAPLoginRequiredError: Error, Sendable, Hashable {
  /// How the user signs in.
  public enum Method: String, Sendable, Hashable {
    /// SAML: the response has the field `com.sap.cloud.security.login`.
    case saml
    /// A one-time password: the response has `x-smp-authentication: otp-challenge`.
    case oneTimePassword
  }

  /// How the user signs in.
  public let method: Method

  init?(_ fields: HTTPFields) {
    if fields.contains("com.sap.cloud.security.login") {
      method = .saml
    } else if fields["x-smp-authentication"]?.lowercased() == "otp-challenge" {
      method = .oneTimePassword
    } else {
      return nil
    }
  }
}

extension SAPLoginRequiredError: LocalizedError {
  /// What to do.
  public var errorDescription: String? {
    switch method {
    case .saml: "The service wants the user to sign in (SAML)."
    case .oneTimePassword: "The service wants a one-time password."
    }
  }
}
