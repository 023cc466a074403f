/// The meaning of a response, or of a link in it, for the next request.
package enum Redirect: Sendable, Hashable {
  /// The response is not a redirect: it is the final response. A link never means this.
  case none
  /// The next request, and whether it has the same body.
  case follow(head: RequestHead, keepsBody: Bool)
  /// The redirect or link must not be followed. The reason is a sentence for messages, and contains no secrets.
  case refuse(reason: String)
}

/// Decides whether and how to follow a redirect (RFC 9110 §15.4). Where the RFC leaves a choice, it does the same as
/// browsers (Fetch §4.4, “HTTP-redirect fetch”). The redirect policy decides whether redirects are followed at all, and
/// how many. The same rule applies to links to further parts of a response, for example to the next page of a list.
@_spi(Toolkit) public struct RedirectRule: Sendable {
  private let allowsInsecure: Bool
  private let staysOnOrigin: Bool
  private let kept: Set<FieldName>

  /// Makes a rule.
  ///
  /// - Parameters:
  ///   - allowsInsecure: whether redirects and links from https to http may be followed; otherwise they are refused.
  ///   - staysOnOrigin: whether to stay on the origin: a redirect to another origin is then the final response, and a
  ///     link to one is refused.
  ///   - kept: fields that are sent to another origin although their names mark them as secret.
  package init(allowsInsecure: Bool = false, staysOnOrigin: Bool = false, keeping kept: Set<FieldName> = []) {
    self.allowsInsecure = allowsInsecure
    self.staysOnOrigin = staysOnOrigin
    self.kept = kept
  }

  /// Decides the next step after a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - request: the request that was answered.
  package func decide(after response: ResponseHead, to request: RequestHead) -> Redirect {
    guard Self.isRedirect(response.status) else { return .none }
    let locations = Set(response.fields[values: .location]).subtracting([""])
    guard let location = locations.first else { return .none }
    let name = "the redirect (\(response.status.code))"
    guard locations.count == 1 else {
      return Self.refusal(of: name, "it names \(locations.count) different Locations")
    }
    switch RedirectTarget.resolve(location, against: request.url, opensWebSocket: request.fields.opensWebSocket) {
    case .unusable where staysOnOrigin: return .none
    case .url(let url) where staysOnOrigin && Origin(url) != Origin(request.url): return .none
    case .unusable(let reason): return Self.refusal(of: name, "its Location \(reason)")
    case .url(let url): return follow(response.status, from: request, to: url, as: name)
    }
  }

  /// Decides whether and how to follow a link, like a 303 redirect (RFC 8288).
  ///
  /// - Parameters:
  ///   - target: the target of the link as it was sent.
  ///   - name: the name of the link for messages, for example "the link to the next page".
  ///   - url: the URL of the response with the link; after redirects it differs from the URL of the request.
  ///   - request: the request that was answered.
  package func decide(linkTo target: String, named name: String, at url: URL, after request: RequestHead) -> Redirect {
    var asked = request
    if Origin(request.url) == Origin(url) {
      asked.url = url.replacingUserInformation(with: request.url.userInformation)
    } else {
      asked.url = url
      asked.fields.removeAll { Self.belongsToOrigin($0, unlessIn: kept) }
    }
    switch RedirectTarget.resolve(target, against: asked.url) {
    case .unusable(let reason): return Self.refusal(of: name, "its target \(reason)")
    case .url(let url) where staysOnOrigin && Origin(url) != Origin(asked.url):
      return Self.refusal(of: name, "\(url.redacted) is of another origin, which the redirect policy does not allow")
    case .url(let url): return follow(.seeOther, from: asked, to: url, as: name)
    }
  }

  /// Not 300, where the user chooses, nor 304, 305 and 306, which have no target.
  private static func isRedirect(_ status: HTTPStatus) -> Bool {
    switch status {
    case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: true
    default: false
    }
  }

  private static func refusal(of name: String, _ reason: String) -> Redirect {
    .refuse(reason: "\(name) cannot be followed: \(reason)")
  }

  /// - Parameter name: the name of the redirect or link for messages.
  private func follow(_ status: HTTPStatus, from request: RequestHead, to url: URL, as name: String) -> Redirect {
    let isDowngrade = Self.isDowngrade(from: request.url, to: url)
    guard allowsInsecure || !isDowngrade else {
      return Self.refusal(of: name, "it leads from https to \(url.redacted): allow insecure redirects if that is safe")
    }
    let method = Self.method(after: status, to: request.method)
    let keepsBody = method == request.method
    let isOfOrigin = Origin(request.url) == Origin(url)
    var next = RequestHead(method: method, url: url, fields: request.fields)
    next.url = url.replacingUserInformation(
      with: isOfOrigin ? url.userInformation ?? request.url.userInformation : nil)
    next.fields.removeAll { name in
      (!keepsBody && Self.describesBody(name)) || (!isOfOrigin && Self.belongsToOrigin(name, unlessIn: kept))
    }
    if isDowngrade { next.fields.remove(.referer) }
    return .follow(head: next, keepsBody: keepsBody)
  }

  /// The method of the next request (RFC 9110 §15.4.2–15.4.4, 15.4.8, 15.4.9). A GET or HEAD keeps its method after a
  /// 303.
  private static func method(after status: HTTPStatus, to method: HTTPMethod) -> HTTPMethod {
    switch status {
    case .movedPermanently, .found: method == .post ? .get : method
    case .seeOther: method == .head ? .head : .get
    default: method
    }
  }

  /// Whether a field describes the content or its transfer. Such fields are removed with the body (RFC 9110 §15.4).
  private static func describesBody(_ name: FieldName) -> Bool {
    switch name {
    case .transferEncoding, .trailer, .expect, .digest, .reprDigest, .lastModified: true
    default: name.canonicalName.hasPrefix("content-")
    }
  }

  /// Whether a field must not be sent to another origin (RFC 9110 §15.4, §17.16.3): credentials, `Cookie`, `Host`, and
  /// fields with the name of a secret, for example `X-Api-Key`.
  ///
  /// - Parameter kept: fields that may be sent although their names mark them as secret.
  public static func belongsToOrigin(_ name: FieldName, unlessIn kept: Set<FieldName> = []) -> Bool {
    switch name {
    case .authorization, .proxyAuthorization, .cookie, .host: true
    default: !kept.contains(name) && name.isSecret
    }
  }

  private static func isDowngrade(from request: URL, to target: URL) -> Bool {
    Origin(request)?.isSecure == true && Origin(target)?.isSecure != true
  }
}

extension URL {
  /// `user:password`, percent-encoded; nil if the URL has none.
  package var userInformation: String? {
    guard let user = user(percentEncoded: true) else { return nil }
    return password(percentEncoded: true).map { "\(user):\($0)" } ?? user
  }

  /// Returns the URL with this user information, or without any.
  package func replacingUserInformation(with information: String?) -> URL {
    guard information != userInformation,
      var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else {
      return self
    }
    let pieces = information?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) ?? []
    parts.percentEncodedUser = pieces.first.map(String.init)
    parts.percentEncodedPassword = pieces.count > 1 ? String(pieces[1]) : nil
    return parts.url ?? self
  }
}

extension RedirectRule {
  /// Returns a message if there were too many redirects; nil if they are within the limit.
  ///
  /// - Parameters:
  ///   - visited: the URLs in order: that of the first request, then the target of each redirect, including the next
  ///     one.
  ///   - limit: the maximum number of redirects.
  /// - Returns: a sentence with the loop, if there is one, or the last few URLs, without secrets.
  package static func tooMany(visited: [URL], limit: Int) -> String? {
    guard visited.count - 1 > max(0, limit) else { return nil }
    let trail = loop(in: visited) ?? (name: "the last were", urls: visited.suffix(4))
    var urls = trail.urls.map(\.redacted)
    if urls.count > 8 { urls.replaceSubrange(4..<(urls.count - 3), with: ["…"]) }
    return "more than \(limit) redirect\(limit == 1 ? "" : "s"); \(trail.name): \(urls.joined(separator: " → "))"
  }

  /// Returns the shortest loop that ends at the last URL, including both ends; nil if the last URL occurs only once.
  private static func loop(in visited: [URL]) -> (name: String, urls: ArraySlice<URL>)? {
    guard let last = visited.last, let before = visited.dropLast().lastIndex(of: last) else { return nil }
    return ("loop", visited[before...])
  }
}
