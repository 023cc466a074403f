/// What a response says about going elsewhere.
package enum Redirect: Sendable, Hashable {
  /// It is no redirect: the response is the answer.
  case none
  /// The request to make next, and whether the body goes with it.
  case follow(head: RequestHead, keepsBody: Bool)
  /// It is a redirect that must not be followed; the reason is for people, and shows no secret.
  case refuse(reason: String)
}

/// The rule by which redirects are followed (RFC 9110 §15.4), where that leaves a choice the one of browsers (Fetch
/// §4.4, “HTTP-redirect fetch”). What to follow, and how often, is the policy's affair, not the rule's.
package enum RedirectRule {
  /// Decides what follows a response.
  ///
  /// - Parameters:
  ///   - response: The response that came.
  ///   - request: The request that it answers.
  ///   - allowsInsecure: Whether to go on from https to http; otherwise that is refused.
  ///   - kept: Fields named like secrets that go to another origin all the same.
  package static func decide(
    after response: ResponseHead, to request: RequestHead, allowsInsecure: Bool = false,
    keeping kept: Set<FieldName> = []
  ) -> Redirect {
    guard isRedirect(response.status) else { return .none }
    let locations = Set(response.fields[values: .location]).subtracting([""])
    guard let location = locations.first else { return .none }
    guard locations.count == 1 else {
      return refusal(of: response, "it names \(locations.count) different Locations")
    }
    switch RedirectTarget.resolve(location, against: request.url) {
    case .unusable(let reason):
      return refusal(of: response, reason)
    case .url(let url) where !allowsInsecure && isDowngrade(from: request.url, to: url):
      return refusal(of: response, "it leads from https to \(url.redacted): allow insecure redirects if it may")
    case .url(let url):
      return follow(response.status, from: request, to: url, keeping: kept)
    }
  }

  /// Not 300, where the choice is the user's, nor 304, 305 and 306, which lead nowhere.
  private static func isRedirect(_ status: HTTPStatus) -> Bool {
    switch status {
    case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: true
    default: false
    }
  }

  private static func refusal(of response: ResponseHead, _ reason: String) -> Redirect {
    .refuse(reason: "the redirect (\(response.status.code)) cannot be followed: \(reason)")
  }

  private static func follow(
    _ status: HTTPStatus, from request: RequestHead, to url: URL, keeping kept: Set<FieldName>
  ) -> Redirect {
    let method = method(after: status, to: request.method)
    let keepsBody = method == request.method
    let staysOnOrigin = Origin(request.url) == Origin(url)
    var next = RequestHead(method: method, url: url, fields: request.fields)
    next.url = url.replacingUserInformation(
      with: staysOnOrigin ? url.userInformation ?? request.url.userInformation : nil)
    next.fields.removeAll { name in
      (!keepsBody && describesBody(name)) || (!staysOnOrigin && belongsToOrigin(name, unlessIn: kept))
    }
    if isDowngrade(from: request.url, to: url) { next.fields.remove(.referer) }
    return .follow(head: next, keepsBody: keepsBody)
  }

  /// RFC 9110 §15.4.2–15.4.4, 15.4.8, 15.4.9. A GET or HEAD that meets a 303 stays what it is.
  private static func method(after status: HTTPStatus, to method: HTTPMethod) -> HTTPMethod {
    switch status {
    case .movedPermanently, .found: method == .post ? .get : method
    case .seeOther: method == .head ? .head : .get
    default: method
    }
  }

  /// The content-specific fields, which go when the body goes (RFC 9110 §15.4), and those about its transfer.
  private static func describesBody(_ name: FieldName) -> Bool {
    switch name {
    case .transferEncoding, .trailer, .expect, .digest, .reprDigest, .lastModified: true
    default: name.canonicalName.hasPrefix("content-")
    }
  }

  /// The fields that were meant for one origin alone (RFC 9110 §15.4, §17.16.3): those of the standards, and what is named like
  /// a secret, `X-Api-Key` for example.
  ///
  /// - Parameter kept: Fields named like secrets that do not count.
  package static func belongsToOrigin(_ name: FieldName, unlessIn kept: Set<FieldName> = []) -> Bool {
    switch name {
    case .authorization, .proxyAuthorization, .cookie, .host: true
    default: !kept.contains(name) && SecretName.isSecretField(name.rawName)
    }
  }

  private static func isDowngrade(from request: URL, to target: URL) -> Bool {
    Origin(request)?.isSecure == true && Origin(target)?.isSecure != true
  }
}

extension URL {
  /// `user:password`, still encoded; nil if the URL has none.
  fileprivate var userInformation: String? {
    guard let user = user(percentEncoded: true) else { return nil }
    return password(percentEncoded: true).map { "\(user):\($0)" } ?? user
  }

  /// The same URL with this user information, or without any.
  package func replacingUserInformation(with information: String?) -> URL {
    guard information != userInformation, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
      return self
    }
    let pieces = information?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) ?? []
    parts.percentEncodedUser = pieces.first.map(String.init)
    parts.percentEncodedPassword = pieces.count > 1 ? String(pieces[1]) : nil
    return parts.url ?? self
  }
}
