@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Signs requests to AWS, and to services with the same scheme, such as stores with the API of S3: version 4,
/// `AWS4-HMAC-SHA256`.
///
/// ```swift
/// let keys = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret)
/// configuration.credentials = [
///   AWSSignatureSource(keys, region: "eu-central-1", service: "execute-api", for: .origin(of: api))
/// ]
/// ```
///
/// - A signature is made for each attempt, with the time of the attempt, and is valid for a few minutes at one host. A
///   redirect to another host gets a new signature if the ``scope`` contains the host, and otherwise neither a
///   signature nor a session token.
/// - The signature covers all fields that the request has before the cookies and the fields of the cache and the
///   transport are added, except `User-Agent`.
/// - The body is hashed before it is sent. A file or a stream is read once more for that. A body that can be read only
///   once can be sent to S3 over https, unsigned (`UNSIGNED-PAYLOAD`), but not to other services: the request fails
///   with ``Martlet/HTTPError/Kind/invalidRequest``. If the request has `X-Amz-Content-Sha256`, its value is used.
/// - A request that has its own `Authorization` is not signed. A refusal is the service's response, usually with the
///   status 403.
public struct AWSSignatureSource: CredentialSource {
  /// The origins whose requests are signed.
  public let scope: CredentialScope
  private let region: String
  private let service: String
  private let credentials: @Sendable () async throws -> AWSCredentials
  private let now: @Sendable () -> Date

  /// Makes a source with fixed keys.
  ///
  /// - Parameters:
  ///   - credentials: the keys.
  ///   - region: the region of the service: `eu-central-1`.
  ///   - service: the service's name in signatures: `s3`, `execute-api`, `dynamodb`.
  ///   - scope: the origins whose requests are signed.
  public init(_ credentials: AWSCredentials, region: String, service: String, for scope: CredentialScope) {
    self.init(region: region, service: service, for: scope) { credentials }
  }

  /// Makes a source that gets the keys from a closure, for keys that are valid for an hour.
  ///
  /// - Parameters:
  ///   - region: the region of the service: `eu-central-1`.
  ///   - service: the service's name in signatures: `s3`, `execute-api`, `dynamodb`.
  ///   - scope: the origins whose requests are signed.
  ///   - credentials: returns the keys. It is called for every attempt, so it should keep them as long as they are
  ///     valid. An error that it throws ends the call.
  public init(
    region: String, service: String, for scope: CredentialScope,
    credentials: @escaping @Sendable () async throws -> AWSCredentials
  ) {
    self.init(region: region, service: service, for: scope, now: { .now }, credentials: credentials)
  }

  init(
    region: String, service: String, for scope: CredentialScope, now: @escaping @Sendable () -> Date,
    credentials: @escaping @Sendable () async throws -> AWSCredentials
  ) {
    (self.region, self.service, self.scope) = (region, service, scope)
    (self.now, self.credentials) = (now, credentials)
  }

  public func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    let credentials = try await credentials()
    let time = now().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    var request = request
    request.fields["X-Amz-Date"] = time
    if let token = credentials.sessionToken { request.fields["X-Amz-Security-Token"] = token }
    let payload = try await payload(of: request)
    if AWSSignature.isS3(service) { request.fields["X-Amz-Content-Sha256"] = payload }
    let signature = AWSSignature(credentials: credentials, region: region, service: service, time: time)
    let query = request.url.query(percentEncoded: true)
    let authorization = signature.authorization(
      request.method, host: request.fields[.host] ?? request.origin?.authority ?? "",
      target: request.url.path(percentEncoded: true) + (query.map { "?" + $0 } ?? ""), request.fields, payload: payload)
    guard let authorization else { throw Self.noHash }
    request.fields[.authorization] = authorization
    return request
  }

  /// The hash of the body, or the placeholder for a body that is not hashed.
  private func payload(of request: HTTPRequest) async throws -> String {
    if let given = request.fields["X-Amz-Content-Sha256"] { return given }
    let body = request.body
    if !body.isReplayable, !body.isEmpty {
      if AWSSignature.isS3(service), request.origin?.isSecure == true { return "UNSIGNED-PAYLOAD" }
      throw HTTPError(
        .invalidRequest,
        "the body can be read only once, so it cannot be signed and then sent: make it of data, of a file, or of a "
          + "stream that can be made again",
        phase: .preparing)
    }
    guard let digest = IncrementalDigest(.sha256) else { throw Self.noHash }
    if let bytes = body.bytes {
      bytes.withUnsafeBytes { digest.update($0) }
    } else {
      let open = try await body.open()
      while let chunk = try await open.source.next() { chunk.withUnsafeBytes { digest.update($0) } }
    }
    return digest.value().hexadecimal
  }

  private static var noHash: HTTPError {
    HTTPError(.authenticationFailed, "the system's cryptographic library offers no SHA-256", phase: .preparing)
  }
}

/// The keys of an AWS account or role, for an ``AWSSignatureSource``.
public struct AWSCredentials: Sendable, Hashable {
  /// The identifier of the key, which is sent.
  public let accessKeyID: String
  /// The key, which is never sent.
  public let secretAccessKey: String
  /// The token of temporary keys, which is sent with them; nil for an account's own keys.
  public let sessionToken: String?

  /// Makes keys; without a session token by default.
  public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
    (self.accessKeyID, self.secretAccessKey, self.sessionToken) = (accessKeyID, secretAccessKey, sessionToken)
  }
}

extension AWSCredentials: CustomStringConvertible, CustomReflectable {
  /// The identifier of the key alone.
  public var description: String { "the AWS key \(accessKeyID)" }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
