@_spi(Toolkit) import MartletSemantics
import MartletTesting

/// The state of a service, and its replies. It is a value behind a lock in the service.
struct ServiceState: Sendable {
  /// A reply that was set for the next requests to a path.
  struct Script: Sendable {
    let path: String
    let reply: Reply
    var left: Int
  }

  /// A session, by its cookie; the token is valid in that session only.
  struct Session: Sendable {
    let user: String
    var token: String
    var requestCount = 0
  }

  var settings: MobileServices.Settings
  var scripts: [Script] = []
  var sessions: [String: Session] = [:]
  /// Codes by user; the empty name means all users.
  var blocked: [String: String] = [:]
  /// What the services keep for the app.
  var services = AppServices()
  /// Whether every response says that the app's version is inactive.
  var isVersionInactive = false
  /// Services behind the sessions and CSRF tokens.
  var odata: [ODataService] = []
  var tokens = GatewayTokens()
  /// The faults of the current request.
  var faults: Set<SAPGateway.Fault> = []
  /// The number of requests before all sessions end; nil if they do not end.
  var requestsToExpiry: Int?
  private var lastNumber = 0

  private static let cookieName = "JSESSIONID"
  private static let tokenField: FieldName = "X-CSRF-Token"

  init(_ settings: MobileServices.Settings) { self.settings = settings }

  mutating func renewTokens() {
    for id in sessions.keys {
      let token = unique("token")
      sessions[id]?.token = token
    }
  }

  mutating func reply(to request: ReceivedRequest) -> Reply {
    countDown()
    if let reply = scripted(request) { return reply }
    guard let (id, isNew) = session(of: request), let session = sessions[id] else { return .unauthorized }
    var reply = guarded(request, in: session, id)
    if isVersionInactive { reply = reply.with("x-app-version-inactive", "true") }
    return isNew ? reply.with(.setCookie, "\(Self.cookieName)=\(id); Path=/; HttpOnly") : reply
  }

  private mutating func countDown() {
    guard let rest = requestsToExpiry else { return }
    requestsToExpiry = rest > 0 ? rest - 1 : nil
    if rest == 0 { sessions = [:] }
  }

  private mutating func scripted(_ request: ReceivedRequest) -> Reply? {
    guard let index = scripts.firstIndex(where: { $0.path == request.path || $0.path == "*" }) else { return nil }
    scripts[index].left -= 1
    return scripts[index].left > 0 ? scripts[index].reply : scripts.remove(at: index).reply
  }

  // MARK: - Sessions

  /// Returns the session of a request, a new one if it has none; nil if it needs credentials.
  private mutating func session(of request: ReceivedRequest) -> (id: String, isNew: Bool)? {
    let cookies = (request.fields[.cookie] ?? "").split(separator: ";").map { ASCII.trimmed($0) }
    let known = cookies.compactMap { cookie -> String? in
      guard cookie.hasPrefix(Self.cookieName + "=") else { return nil }
      return String(cookie.dropFirst(Self.cookieName.count + 1))
    }
    for id in known where hasEnded(id) { sessions[id] = nil }
    if !faults.contains(.sessionPerRequest), let id = known.first(where: { sessions[$0] != nil }) {
      sessions[id]?.requestCount += 1
      return (id, false)
    }
    guard let user = user(of: request) else { return nil }
    let id = unique("session")
    let token = unique("token")
    sessions[id] = Session(user: user, token: token, requestCount: 1)
    return (id, true)
  }

  private func hasEnded(_ id: String) -> Bool {
    faults.contains(.sessionExpired) || faults.contains(.sessionShort) && sessions[id]?.requestCount ?? 0 > 2
  }

  func user(of request: ReceivedRequest) -> String? {
    guard !settings.users.isEmpty else { return "" }
    guard let authorization = request.fields[.authorization] else { return nil }
    if authorization.hasPrefix("Bearer ") { return tokens.user(of: authorization.dropFirst(7)) }
    guard authorization.hasPrefix("Basic "),
      let data = Data(base64Encoded: String(authorization.dropFirst(6)))
    else { return nil }
    let pair = String(decoding: data, as: UTF8.self).split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard pair.count == 2, settings.users[String(pair[0])] == String(pair[1]) else { return nil }
    return String(pair[0])
  }

  private mutating func unique(_ what: String) -> String {
    lastNumber += 1
    return "\(what)-\(lastNumber)-\(UInt32.random(in: 0...UInt32.max))"
  }

  // MARK: - Authorization

  private mutating func guarded(_ request: ReceivedRequest, in session: Session, _ id: String) -> Reply {
    let codes = faults.compactMap(\.messageCode).sorted()
    if let code = codes.first ?? blocked[session.user] ?? blocked[""] { return .blocked(code) }
    if let wanted = settings.applicationID, request.fields["X-SMP-APPID"] != wanted { return .forbidden }
    let isReading = [.get, .head, .options].contains(request.method)
    let token = request.fields[Self.tokenField]
    if request.method == .post, request.path == "/mobileservices/sessions/logout" {
      sessions[id] = nil
      return .status(.ok)
    }
    let isProtected = settings.protectsAgainstCSRF && !faults.contains(.csrfNone)
    if !isReading, isProtected, token != session.token || faults.contains(.csrfRefused) {
      return .csrfRequired(status: settings.tokenRefusal)
    }
    if !isReading, faults.contains(.csrfChanges) {
      let token = unique("token")
      sessions[id]?.token = token
    }
    let reply = services.reply(to: request, of: session.user) ?? content(for: request)
    guard isReading, isProtected, let token, ASCII.equalIgnoringCase(token, "fetch") else {
      return reply
    }
    return reply.with(Self.tokenField, session.token)
  }

  // MARK: - Resources

  private func content(for request: ReceivedRequest) -> Reply {
    let names = request.path.split(separator: "/")
    if let service = odata.first(where: { $0.serves(request.path) }) { return service.reply(to: request) }
    if request.path == "/" { return .text("SAP Mobile Services\n") }
    if names.first == "mobileservices" {
      guard names.count == 4, names[1] == "application", names[3] == "endpoints" else { return .status(.notFound) }
      return (try? .json(encoding: settings.destinations)) ?? .status(.internalServerError)
    }
    guard names.first == "backend" else { return .status(.notFound) }
    switch request.method {
    case .post: return .json(#"{"d":{}}"#, status: .created)
    case .get, .head: return names.count == 1 ? .json(#"{"d":{"EntitySets":["Images"]}}"#) : entity(for: request)
    default: return .status(.noContent)
    }
  }

  private func entity(for request: ReceivedRequest) -> Reply {
    let form = Reply.ErrorForm(accepting: request.fields[.accept])
    do throws(EntityPath.Mistake) {
      let path = try EntityPath(request.path)
      guard path.set == "Images", let media = settings.media[path.key] else {
        return .odataError(
          form, status: .notFound, code: "/IWBEP/CM_MGW_RT/020",
          message: "Resource not found for the segment '\(path.set)'.")
      }
      return path.isMedia ? picture(media, for: request) : .json(#"{"d":{"Key":"x"}}"#)
    } catch {
      return .odataError(
        form, status: error == .quotes ? .badRequest : .notFound, code: "/IWFND/CM_BEC/026",
        message: error == .quotes ? "Malformed URI literal syntax in key" : "Resource not found for the path.")
    }
  }

  private func picture(_ media: Media, for request: ReceivedRequest) -> Reply {
    var fields: HTTPFields = [.eTag: media.entityTag]
    if let cacheControl = media.cacheControl { fields[.cacheControl] = cacheControl }
    if request.fields[.ifNoneMatch]?.contains(media.entityTag) == true { return .status(.notModified, fields: fields) }
    fields[.contentType] = media.type
    return Reply(fields: fields, content: media.content)
  }
}

/// The entity of a path below `/backend`, in OData's syntax: `/Images('it''s%20here')/$value`.
struct EntityPath {
  let set: String
  let key: String
  let isMedia: Bool

  enum Mistake: Error {
    /// The path names no entity.
    case noEntity
    /// The key's quotes do not match: a quote within it must be doubled (OData 4.01 URL conventions §5.1.1.6.1).
    case quotes
  }

  init(_ path: String) throws(Mistake) {
    let segments = path.split(separator: "/").dropFirst().map { PercentEncoding.pathSegment.decode($0) }
    guard let entity = segments.first, let open = entity.firstIndex(of: "("), entity.hasSuffix(")") else {
      throw .noEntity
    }
    set = String(entity[..<open])
    isMedia = segments.dropFirst().first == "$value"
    let text = String(entity[entity.index(after: open)...].dropLast())
    guard text.hasPrefix("'") else {
      key = text
      return
    }
    guard text.count > 1, text.hasSuffix("'") else { throw .quotes }
    let inner = String(text.dropFirst().dropLast())
    guard !inner.replacing("''", with: "").contains("'") else { throw .quotes }
    key = inner.replacing("''", with: "'")
  }
}
