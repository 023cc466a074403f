import MartletSemantics

/// Verifies the signature of a message (RFC 9421 §3.2): of a response, or on a server, of a request.
///
/// ```swift
/// var verifier = SignatureVerifier(requiring: [.status, .field(.contentDigest)]) { input in
///   input.keyID == "server-1" ? serverKey : nil
/// }
/// verifier.maximumAge = .seconds(300)
/// let signature = try await verifier.verify(SignatureContext(response.head, to: response.request))
/// ```
///
/// A signature proves only what it covers: name all components that the program relies on. The content is covered by
/// `Content-Digest`, which the program compares with the content (``Martlet/IntegrityDigest``).
public struct SignatureVerifier: Sendable {
  /// The components that a signature must cover; it may cover more.
  public var required: [SignatureComponent]
  /// The label of the signature; nil, the default, for any.
  public var label: String?
  /// The tag that the signature must have; nil, the default, for any.
  public var tag: String?
  /// The maximum age of the signature by its `created`, which it must then have. Five minutes by default; nil for no
  /// limit, so that an old message can be replayed.
  public var maximumAge: Duration? = .seconds(300)
  /// How far the signer's clock may be off, for `created` and `expires`. 30 seconds by default.
  public var clockTolerance: Duration = .seconds(30)

  private let key: @Sendable (SignatureInput) async throws -> SignatureKey?
  private let now: @Sendable () -> Date

  /// Makes a verifier with one key.
  ///
  /// - Parameters:
  ///   - required: the components that a signature must cover.
  ///   - key: the key. A signature with a `keyid` must have this key's.
  public init(requiring required: [SignatureComponent], key: SignatureKey) {
    self.init(requiring: required) { input in input.keyID == nil || input.keyID == key.id ? key : nil }
  }

  /// Makes a verifier that looks for the key of each signature.
  ///
  /// - Parameters:
  ///   - required: the components that a signature must cover.
  ///   - key: returns the trusted key of a signature, usually by its ``SignatureInput/keyID``; nil if there is none.
  ///     Everything in the input is the sender's and not verified yet.
  public init(
    requiring required: [SignatureComponent], key: @escaping @Sendable (SignatureInput) async throws -> SignatureKey?
  ) {
    self.init(requiring: required, now: { .now }, key: key)
  }

  init(
    requiring required: [SignatureComponent], now: @escaping @Sendable () -> Date,
    key: @escaping @Sendable (SignatureInput) async throws -> SignatureKey?
  ) {
    (self.required, self.now, self.key) = (required, now, key)
  }

  /// The maximum number of signatures of a message that are tried.
  private static let signatureLimit = 8

  /// Verifies the signature of a message. If several have the expected label and tag, one valid signature is enough.
  ///
  /// - Returns: the valid signature. If it has a nonce, the program decides whether that is new.
  /// - Throws: ``SignatureError``, or the error of the closure that looks for keys.
  public func verify(_ context: SignatureContext) async throws -> MessageSignature {
    let candidates = try MessageSignature.all(in: context.fields).filter { signature in
      (label == nil || signature.label == label) && (tag == nil || signature.input.tag == tag)
    }
    var failure: any Error = SignatureError(
      .noSignature,
      "the message has no signature" + (label.map { " with the label '\($0)'" } ?? "")
        + (tag.map { " with the tag '\($0)'" } ?? ""))
    for signature in candidates.prefix(Self.signatureLimit) {
      do {
        try await verify(signature, of: context)
        return signature
      } catch { failure = error }
    }
    throw failure
  }

  private func verify(_ signature: MessageSignature, of context: SignatureContext) async throws {
    let input = signature.input
    try checkCoverage(of: input)
    try checkTime(of: input)
    guard let key = try await key(input) else {
      throw SignatureError(.unknownKey, "there is no trusted key for the signature '\(signature.label)'")
    }
    guard input.parameters["alg"] == nil || input.algorithm == key.algorithm else {
      throw SignatureError(
        .otherAlgorithm,
        "the signature '\(signature.label)' names another algorithm than its key's, \(key.algorithm.rawValue)")
    }
    let base = try SignatureBase(input, of: context)
    guard key.isValid(signature.bytes, of: Data(base.text.utf8)) else {
      throw SignatureError(
        .invalidSignature,
        "the signature '\(signature.label)' is not that of the message: a covered component was changed, or "
          + "another key was used")
    }
  }

  private func checkCoverage(of input: SignatureInput) throws(SignatureError) {
    let covered = Set(input.components.map(\.identity))
    if let missing = required.first(where: { !covered.contains($0.identity) }) {
      throw SignatureError(.uncoveredComponent, "the signature does not cover \(missing), which is required")
    }
  }

  private func checkTime(of input: SignatureInput) throws(SignatureError) {
    let now = now()
    let tolerance = TimeInterval(clockTolerance.components.seconds)
    if let expires = input.expires, expires.addingTimeInterval(tolerance) < now {
      throw SignatureError(.outOfTime, "the signature has expired")
    }
    guard let created = input.created else {
      if maximumAge == nil { return }
      throw SignatureError(.outOfTime, "the signature does not say when it was made (created), but maximumAge is set")
    }
    guard created <= now.addingTimeInterval(tolerance) else {
      throw SignatureError(.outOfTime, "the signature was made in the future: one of the clocks is wrong")
    }
    if let maximumAge {
      let limit = TimeInterval(maximumAge.components.seconds) + tolerance
      guard now.timeIntervalSince(created) <= limit else {
        throw SignatureError(.outOfTime, "the signature is older than \(maximumAge.components.seconds) seconds")
      }
    }
  }
}
