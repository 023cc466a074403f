import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSignatures

/// The options for digests (RFC 9530), signatures (RFC 9421) and proofs of possession (RFC 9449).
///
/// Keys are files of the caller, and the tool makes none: a server has to know the key before it is of use, and a token
/// is bound to the key with which it was requested.
struct SigningOptions {
  /// The values of `--sign-algorithm`.
  static let algorithms = SignatureAlgorithm.allCases.map(\.rawValue)
  /// The values of `--digest`.
  static let digests = IntegrityDigest.Algorithm.allCases.map(\.rawValue)

  private let arguments: ParsedArguments
  private let environment: ToolEnvironment

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) {
    (self.arguments, self.environment) = (arguments, environment)
  }

  /// The proof of possession comes first, so that a signature can cover it.
  func apply(to configuration: inout SessionConfiguration, for url: URL) throws {
    try checkCombinations()
    setDigests(of: &configuration)
    if arguments.has(.dpop) { configuration.finalInterceptors.append(try proof()) }
    if arguments.has(.sign) { configuration.finalInterceptors.append(try signer(for: .origin(of: url))) }
    if arguments.has(.verifySignature) { configuration.finalInterceptors.append(try verifier()) }
  }

  private func checkCombinations() throws(UsageError) {
    if !arguments.has(.sign), let other = [OptionName.signID, .signCovering].first(where: arguments.has) {
      throw UsageError("--\(other.rawValue) has no effect alone: add --sign FILE")
    }
    if arguments.has(.signAlgorithm), ![OptionName.sign, .verifySignature, .dpop].contains(where: arguments.has) {
      throw UsageError("--sign-algorithm has no effect alone: add --sign, --verify-signature or --dpop FILE")
    }
    // A cache may have responses of calls without a verifier, or with another key.
    let caches: [OptionName] = [.onlyCached, .cache]
    if arguments.has(.verifySignature), let cache = caches.first(where: arguments.has) {
      throw UsageError(
        "--verify-signature and --\(cache.rawValue) cannot be combined, because the signatures of kept responses are not "
          + "verified: leave one out")
    }
  }

  /// Every response must be signed, also that of a server to which the first one redirects: a caller who accepts signed
  /// responses only must not get another one.
  private func verifier() throws -> AnyResponseVerifier {
    // Any `keyid` will do: the caller has chosen the key.
    let key = try key(of: .verifySignature, id: nil)
    return AnyResponseVerifier([.status, .field(.contentDigest)], key)
  }

  /// The algorithm of the digests of requests with `--sign` or `--digest`.
  static func digest(for arguments: ParsedArguments) -> IntegrityDigest.Algorithm {
    arguments.value(.digest).flatMap(IntegrityDigest.Algorithm.init) ?? .sha256
  }

  private func setDigests(of configuration: inout SessionConfiguration) {
    // The content of a signed request is covered by its digest only.
    guard arguments.has(.digest) || arguments.has(.sign) else { return }
    // A body in chunks that is signed has the digest as its own field.
    if !(arguments.has(.sign) && arguments.has(.chunked)) {
      configuration.options.contentDigest = Self.digest(for: arguments)
    }
    if arguments.has(.digest) { configuration.options.checksDigests = true }
  }

  private func proof() throws -> DPoP {
    let key = try key(of: .dpop, id: nil)
    return try refusing(.dpop) { () throws(SignatureError) in try DPoP(key) }
  }

  private static let usual: [SignatureComponent] = [
    .field(.authorization), .field(.contentDigest), .field(.contentType), .field("DPoP"),
  ]

  private func signer(for scope: CredentialScope) throws -> any Interceptor {
    let key = try key(of: .sign, id: arguments.value(.signID))
    guard key.canSign else { throw UsageError("--sign: the key is public, and only a private key can sign") }
    guard let list = arguments.value(.signCovering) else {
      return ContentSigner(key, ifPresent: Self.usual, for: scope)
    }
    return RequestSigner(key, covering: try list.split(separator: ",").map(Self.component), for: scope)
  }

  /// Reads a name, and parameters as the RFC writes them: `cache-status;sf`, `@query-param;name="page"`.
  private static func component(_ text: Substring) throws -> SignatureComponent {
    let name = ASCII.trimmed(String(text.prefix { $0 != ";" })).lowercased()
    let parameters = text.drop { $0 != ";" }
    guard let item = try? StructuredField.Item(parsing: "\"\(name)\"" + parameters), case .string = item.value,
      !name.isEmpty
    else {
      throw UsageError("--sign-covering: '\(text)' is not a name such as content-type or @method")
    }
    return SignatureComponent(name, parameters: item.parameters)
  }

  /// Reads the key in the file of an option.
  private func key(of option: OptionName, id: String?) throws(UsageError) -> SignatureKey {
    let path = arguments.value(option) ?? ""
    let file: InputFiles.Key
    do throws(UsageError) { file = try environment.inputFiles.key(path) } catch {
      throw UsageError("--\(option.rawValue): \(error)")
    }
    let algorithm = arguments.value(.signAlgorithm).flatMap(SignatureAlgorithm.init)
    let key = try refusing(option) { () throws(SignatureError) in
      try KeyText(bytes: file.bytes).key(algorithm, id: id)
    }
    if key.canSign, file.isOpenToOthers {
      // Even with --quiet.
      environment.report(
        "martlet: warning: --\(option.rawValue): other users may read the key in '\(path)': chmod 600 it")
    }
    return key
  }

  private func refusing<Value>(
    _ option: OptionName, _ make: () throws(SignatureError) -> Value
  ) throws(UsageError) -> Value {
    do throws(SignatureError) { return try make() } catch {
      throw UsageError("--\(option.rawValue) '\(arguments.value(option) ?? "")': \(error.description)")
    }
  }
}

/// The content of a key's file: PEM, a JSON Web Key, or a secret.
private struct KeyText {
  let bytes: Data

  /// - Parameter algorithm: that of `--sign-algorithm`; nil without it.
  func key(_ algorithm: SignatureAlgorithm?, id: String?) throws(SignatureError) -> SignatureKey {
    let text = String(decoding: bytes, as: UTF8.self)
    if text.contains("-----BEGIN ") { return try SignatureKey(pem: text, algorithm: algorithm, id: id) }
    if algorithm == .hmacSHA256 {
      // A secret may begin as JSON does.
      guard (try? SignatureKey(jwk: bytes)) != nil else { return try SignatureKey(secret: secret, id: id) }
      return try webKey(algorithm, id)
    }
    guard text.first(where: { !$0.isWhitespace }) == "{" else {
      throw SignatureError(
        .unusableKey, "it has neither PEM nor a JSON Web Key: for a secret, add --sign-algorithm hmac-sha256")
    }
    return try webKey(algorithm, id)
  }

  /// The bytes without the line break with which editors end a file.
  private var secret: Data {
    guard bytes.last == UInt8(ascii: "\n") else { return bytes }
    let line = bytes.dropLast()
    return Data(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
  }

  private func webKey(_ algorithm: SignatureAlgorithm?, _ id: String?) throws(SignatureError) -> SignatureKey {
    guard id == nil else {
      throw SignatureError(.unusableKey, "the identifier of a JSON Web Key is its 'kid': leave out --sign-id")
    }
    let names = try? JSONDecoder().decode(Named.self, from: bytes).alg
    // The algorithm that the key names is not the option's to change.
    let key = try SignatureKey(jwk: bytes, algorithm: names == nil ? algorithm : nil)
    guard algorithm == nil || key.algorithm == algorithm else {
      throw SignatureError(
        .unusableKey, "the JSON Web Key is one for \(key.algorithm.rawValue): leave out --sign-algorithm")
    }
    return key
  }

  private struct Named: Decodable {
    var alg: String?
  }
}
