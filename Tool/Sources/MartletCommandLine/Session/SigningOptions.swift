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
    try setDigests(of: &configuration)
    let scope = CredentialScope.origin(of: url)
    if arguments.has(.dpop) { configuration.finalInterceptors.append(try proof()) }
    if arguments.has(.sign) {
      configuration.finalInterceptors.append(try signer(for: scope))
    } else if let other = [OptionName.signID, .signAlgorithm, .signCovering].first(where: arguments.has) {
      throw UsageError("--\(other.rawValue) has no effect alone: add --sign FILE")
    }
    if arguments.has(.verifySignature) {
      // Any `keyid` will do: the caller has chosen the key.
      let key = try key(of: .verifySignature, algorithm: nil, id: nil)
      let verifier = SignatureVerifier(requiring: [.status, .field(.contentDigest)]) { _ in key }
      configuration.finalInterceptors.append(ResponseVerifier(verifier, for: scope))
    }
  }

  private func setDigests(of configuration: inout SessionConfiguration) throws(UsageError) {
    // The content of a signed request is covered by its digest only.
    let algorithm = arguments.value(.digest).flatMap(IntegrityDigest.Algorithm.init)
    configuration.options.contentDigest = algorithm ?? (arguments.has(.sign) ? .sha256 : nil)
    if algorithm != nil { configuration.options.checksDigests = true }
  }

  private func proof() throws -> DPoP {
    let key = try key(of: .dpop, algorithm: nil, id: nil)
    return try refusing(.dpop) { () throws(SignatureError) in try DPoP(key) }
  }

  private static let usual: [SignatureComponent] = [
    .field(.authorization), .field(.contentDigest), .field(.contentType), .field("DPoP"),
  ]

  private func signer(for scope: CredentialScope) throws -> RequestSigner {
    let algorithm = arguments.value(.signAlgorithm).flatMap(SignatureAlgorithm.init)
    let key = try key(of: .sign, algorithm: algorithm, id: arguments.value(.signID))
    guard key.canSign else { throw UsageError("--sign: the key is public, and only a private key can sign") }
    guard let list = arguments.value(.signCovering) else {
      return RequestSigner(key, covering: [.method, .targetURI], ifPresent: Self.usual, for: scope)
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
  private func key(of option: OptionName, algorithm: SignatureAlgorithm?, id: String?) throws -> SignatureKey {
    let file = try environment.existingFile(arguments.value(option) ?? "", of: option)
    let bytes = try Data(contentsOf: file)
    let text = String(decoding: bytes, as: UTF8.self)
    let key = try refusing(option) { () throws(SignatureError) in
      if text.contains("-----BEGIN ") { return try SignatureKey(pem: text, algorithm: algorithm, id: id) }
      if text.first(where: { !$0.isWhitespace }) == "{" {
        guard id == nil else {
          throw SignatureError(.unusableKey, "the identifier of a JSON Web Key is its 'kid': leave out --sign-id")
        }
        return try SignatureKey(jwk: bytes, algorithm: algorithm)
      }
      guard algorithm == .hmacSHA256 else {
        throw SignatureError(
          .unusableKey, "it has neither PEM nor a JSON Web Key: for a secret, add --sign-algorithm hmac-sha256")
      }
      // Editors end a file with a line break.
      return try SignatureKey(secret: text.hasSuffix("\n") ? bytes.dropLast() : bytes, id: id)
    }
    if key.canSign { warnOfReaders(of: file, option) }
    return key
  }

  /// Says, even with `--quiet`, that others can read a private key.
  private func warnOfReaders(of file: URL, _ option: OptionName) {
    let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
    let value = attributes?[.posixPermissions]
    guard let mode = value as? Int ?? (value as? any BinaryInteger).map({ Int($0) }), mode & 0o077 != 0 else { return }
    environment.report(
      "martlet: warning: --\(option.rawValue): other users may read the key in '\(file.path)': chmod 600 it")
  }

  private func refusing<Value>(
    _ option: OptionName, _ make: () throws(SignatureError) -> Value
  ) throws(UsageError) -> Value {
    do throws(SignatureError) { return try make() } catch {
      throw UsageError("--\(option.rawValue) '\(arguments.value(option) ?? "")': \(error.description)")
    }
  }
}
