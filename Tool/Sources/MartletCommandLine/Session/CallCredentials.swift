import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSignIn

/// The credentials of `--auth`, `--aws-sigv4`, `--dpop` or the URL.
enum CallCredentials: Sendable, Codable, Hashable {
  case basic(user: String, password: String)
  case digest(user: String, password: String)
  case bearer(token: String)
  /// A token that is bound to the key of `--dpop`.
  case dpop(token: String)
  case aws(AWSKeys)

  /// Reads `--auth` and `--auth-type`, otherwise the user information of the URL, `http://user:password@host/`; nil
  /// without them. Takes a missing password from `--netrc`, or asks for that of `--auth`.
  ///
  /// The user information stays in the request if no option concerns it, so that nothing else acts as another user. An
  /// option replaces it.
  init?(
    _ arguments: ParsedArguments, for request: inout HTTPRequest, at origin: Origin, _ environment: ToolEnvironment
  ) throws {
    let given = GivenText(arguments, of: request.url, at: origin, environment)
    let options: [OptionName] = [.auth, .authType, .awsSignature, .dpop]
    if options.contains(where: arguments.has) { request.url = request.url.withoutUserInformation ?? request.url }
    if let specification = arguments.value(.awsSignature) {
      if arguments.has(.authType) {
        throw UsageError("--aws-sigv4 and --auth-type cannot be combined: leave one out")
      }
      if arguments.has(.dpop) { throw UsageError("--dpop and --aws-sigv4 cannot be combined: leave one out") }
      self = .aws(try AWSKeys(specification, given, for: origin, environment))
      return
    }
    if arguments.has(.dpop) {
      guard let token = try Self.boundToken(arguments) else { return nil }
      self = .dpop(token: token)
      return
    }
    let type = arguments.value(.authType) ?? "basic"
    if type == "bearer" {
      guard let token = arguments.value(.auth) else { throw UsageError("--auth-type bearer needs --auth TOKEN") }
      self = .bearer(token: token)
      return
    }
    guard let (user, password) = try given.userAndPassword() else {
      if arguments.has(.authType) { throw UsageError("--auth-type needs --auth USER:PASSWORD") }
      return nil
    }
    self = type == "digest" ? .digest(user: user, password: password) : .basic(user: user, password: password)
  }

  /// Returns the token of `--auth` with `--dpop`; nil if it is that of a session.
  private static func boundToken(_ arguments: ParsedArguments) throws(UsageError) -> String? {
    if arguments.has(.authType) { throw UsageError("--dpop and --auth-type cannot be combined: leave one out") }
    let hasSession = arguments.has(.session) || arguments.has(.sessionReadOnly)
    guard let token = arguments.value(.auth) else {
      if hasSession { return nil }
      throw Self.missingToken
    }
    // No token has a colon (RFC 6750 §2.1).
    guard !token.contains(":") else {
      throw UsageError("--dpop and --auth USER:PASSWORD cannot be combined: --dpop needs --auth TOKEN")
    }
    return token
  }

  private static let missingToken = UsageError(
    "--dpop needs --auth TOKEN: the access token that the server has bound to the key")

  /// Checks that the credentials of a call, which may come from a session, and `--dpop` need each other. A field
  /// `Authorization` replaces the credentials.
  static func check(
    _ credentials: CallCredentials?, with arguments: ParsedArguments, for request: HTTPRequest
  ) throws(UsageError) {
    guard !request.fields.contains(.authorization) else { return }
    switch credentials {
    case .dpop:
      if arguments.has(.dpop) { return }
      throw UsageError("the session's token is bound to a key: add --dpop FILE with that key, or another --auth")
    case nil:
      if arguments.has(.dpop) { throw missingToken }
    case .basic, .digest, .bearer, .aws:
      guard arguments.has(.dpop) else { return }
      let name = arguments.has(.session) ? "session" : "session-read-only"
      throw UsageError(
        "--dpop and the credentials of --\(name) cannot be combined, because these have no key: add --auth TOKEN, the "
          + "access token that the server has bound to the key")
    }
  }

  /// The value of `Authorization` if it needs no challenge and no signature; nil for the others.
  var authorization: String? {
    switch self {
    case .basic(let user, let password): "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    case .digest, .aws, .dpop: nil
    case .bearer(let token): "Bearer " + token
    }
  }

  /// The source of the credentials for an origin. Basic is sent at once. Digest is sent after a challenge, and Basic is
  /// not allowed then: a server cannot get the password itself.
  func source(for scope: CredentialScope) -> any CredentialSource {
    switch self {
    case .basic(let user, let password):
      PasswordSource(Credential(user: user, password: password), for: scope, offer: .preemptive)
    case .digest(let user, let password):
      PasswordSource(Credential(user: user, password: password), for: scope, schemes: [.digest])
    case .bearer(let token): TokenSource(AccessToken(token), for: scope)
    case .dpop(let token): TokenSource(AccessToken(token, type: "DPoP"), for: scope)
    case .aws(let keys):
      AWSSignatureSource(keys.credentials, region: keys.region, service: keys.service, for: scope)
    }
  }
}

/// The user name and the password that the command line has.
private struct GivenText {
  private let arguments: ParsedArguments
  private let information: UserInformation?
  private let origin: Origin
  private let environment: ToolEnvironment

  init(_ arguments: ParsedArguments, of url: URL, at origin: Origin, _ environment: ToolEnvironment) {
    (self.arguments, self.origin, self.environment) = (arguments, origin, environment)
    information = UserInformation(of: url)
  }

  /// Returns the credentials of `--auth`, otherwise the URL's; nil without them.
  ///
  /// For a name alone, the password comes from `--netrc`. Otherwise the user is asked for it, or it is empty if the URL
  /// has the name, as in curl and HTTPie.
  func userAndPassword() throws -> (user: String, password: String)? {
    guard let text = arguments.value(.auth) else {
      guard let information else { return nil }
      return (information.user, try information.password ?? netrcPassword(of: information.user) ?? "")
    }
    let user = String(text.prefix { $0 != ":" })
    if let colon = text.firstIndex(of: ":") { return (user, String(text[text.index(after: colon)...])) }
    if let password = try netrcPassword(of: user) { return (user, password) }
    guard let answer = environment.askPassword("password of \(user) for \(origin): ") else {
      throw UsageError("there is no terminal to ask for the password: write --auth \(user):PASSWORD")
    }
    return (user, answer)
  }

  private func netrcPassword(of user: String) throws -> String? {
    try Netrc(of: arguments, environment)?.credential(for: origin.host, user: user)?.password
  }
}

extension Netrc {
  /// Reads the file of `--netrc-file`; with `--netrc` that of `$NETRC`, or `.netrc` in the folder `$HOME`; nil without
  /// these options.
  init?(of arguments: ParsedArguments, _ environment: ToolEnvironment) throws {
    if let path = arguments.value(.netrcFile) {
      self = try .file(environment.existingFile(path, of: .netrcFile))
      return
    }
    guard arguments.has(.netrc) else { return nil }
    let places = [("NETRC", ""), ("HOME", "/.netrc")].compactMap { name, rest in
      environment.variables[name].flatMap { $0.isEmpty ? nil : $0 + rest }
    }
    guard let path = places.first else {
      throw UsageError("--netrc needs a folder: set HOME, or name the file with --netrc-file")
    }
    self = try .file(environment.existingFile(path, of: .netrc))
  }
}

/// The keys, the region and the service of `--aws-sigv4`.
struct AWSKeys: Sendable, Codable, Hashable {
  let region: String
  let service: String
  private let keyID: String
  private let key: String
  private let token: String?

  /// Reads `aws:amz:REGION:SERVICE`, or takes both from a host such as `sqs.eu-central-1.amazonaws.com`. The keys come
  /// from `--auth`, the URL or the environment.
  fileprivate init(
    _ specification: String, _ given: GivenText, for origin: Origin, _ environment: ToolEnvironment
  ) throws {
    let parts = specification.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts[0] == "aws", parts.count < 2 || parts[1] == "amz", parts.count <= 4 else {
      throw UsageError("--aws-sigv4 '\(specification)' is not aws:amz:REGION:SERVICE, such as aws:amz:eu-central-1:s3")
    }
    let labels = origin.host.hasSuffix(".amazonaws.com") ? origin.host.split(separator: ".").map(String.init) : []
    let (last, next) = (labels.dropLast(2).last, labels.dropLast(3).last)
    guard let region = parts.count > 2 ? parts[2] : last, let service = parts.count > 3 ? parts[3] : next,
      !region.isEmpty, !service.isEmpty
    else {
      throw UsageError(
        "--aws-sigv4 '\(specification)': the host '\(origin.host)' does not name the region and the service: write "
          + "aws:amz:REGION:SERVICE")
    }
    (self.region, self.service) = (region, service)
    if let (user, password) = try given.userAndPassword() {
      (keyID, key, token) = (user, password, nil)
      return
    }
    let variables = environment.variables
    guard let keyID = variables["AWS_ACCESS_KEY_ID"], let key = variables["AWS_SECRET_ACCESS_KEY"] else {
      throw UsageError(
        "--aws-sigv4 needs keys: --auth KEY_ID:KEY, or $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY")
    }
    (self.keyID, self.key, token) = (keyID, key, variables["AWS_SESSION_TOKEN"])
  }

  var credentials: AWSCredentials { AWSCredentials(accessKeyID: keyID, secretAccessKey: key, sessionToken: token) }
}
