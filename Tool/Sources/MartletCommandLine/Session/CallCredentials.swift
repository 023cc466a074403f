import MartletEngine
import MartletSemantics
import MartletSignIn

/// The credentials of `--auth` and `--aws-sigv4`.
enum CallCredentials: Sendable, Codable, Hashable {
  case basic(user: String, password: String)
  case digest(user: String, password: String)
  case bearer(token: String)
  case aws(AWSKeys)

  /// Reads `--auth` and `--auth-type`; nil without them. Asks for a missing password.
  init?(_ arguments: ParsedArguments, for origin: Origin, _ surroundings: Surroundings) throws(UsageError) {
    if let specification = arguments.value(.awsSignature) {
      if arguments.has(.authType) {
        throw UsageError("--aws-sigv4 and --auth-type cannot be combined: leave one out")
      }
      self = .aws(try AWSKeys(specification, arguments, for: origin, surroundings))
      return
    }
    guard let text = arguments.value(.auth) else {
      if arguments.has(.authType) { throw UsageError("--auth-type needs --auth USER:PASSWORD") }
      return nil
    }
    let type = arguments.value(.authType) ?? "basic"
    if type == "bearer" {
      self = .bearer(token: text)
      return
    }
    let (user, password) = try Self.userAndPassword(text, for: origin, surroundings)
    self = type == "digest" ? .digest(user: user, password: password) : .basic(user: user, password: password)
  }

  /// Splits `user:password`, and asks for a missing password.
  fileprivate static func userAndPassword(
    _ text: String, for origin: Origin, _ surroundings: Surroundings
  ) throws(UsageError) -> (user: String, password: String) {
    let user = String(text.prefix { $0 != ":" })
    if let colon = text.firstIndex(of: ":") { return (user, String(text[text.index(after: colon)...])) }
    guard let answer = surroundings.askPassword("password of \(user) for \(origin): ") else {
      throw UsageError("there is no terminal to ask for the password: write --auth \(user):PASSWORD")
    }
    return (user, answer)
  }

  /// The value of `Authorization` if it needs no challenge and no signature; nil for the others.
  var authorization: String? {
    switch self {
    case .basic(let user, let password): "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    case .digest, .aws: nil
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
    case .aws(let keys):
      AWSSignatureSource(keys.credentials, region: keys.region, service: keys.service, for: scope)
    }
  }
}

/// The keys, the region and the service of `--aws-sigv4`.
struct AWSKeys: Sendable, Codable, Hashable {
  let region: String
  let service: String
  private let keyID: String
  private let key: String
  private let token: String?

  /// Reads `aws:amz:REGION:SERVICE`, or takes both from a host such as `sqs.eu-central-1.amazonaws.com`. The keys are
  /// those of `--auth`, or of the environment.
  fileprivate init(
    _ specification: String, _ arguments: ParsedArguments, for origin: Origin, _ surroundings: Surroundings
  ) throws(UsageError) {
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
    if let text = arguments.value(.auth) {
      (keyID, key) = try CallCredentials.userAndPassword(text, for: origin, surroundings)
      token = nil
      return
    }
    let environment = surroundings.environment
    guard let keyID = environment["AWS_ACCESS_KEY_ID"], let key = environment["AWS_SECRET_ACCESS_KEY"] else {
      throw UsageError(
        "--aws-sigv4 needs keys: --auth KEY_ID:KEY, or $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY")
    }
    (self.keyID, self.key, token) = (keyID, key, environment["AWS_SESSION_TOKEN"])
  }

  var credentials: AWSCredentials { AWSCredentials(accessKeyID: keyID, secretAccessKey: key, sessionToken: token) }
}
