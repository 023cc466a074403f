public import MartletSemantics

/// What a signature covers, and its metadata: a member of `Signature-Input` (RFC 9421 §2.3, §4.1).
public struct SignatureInput: Sendable, Hashable {
  /// The covered components, in order.
  public var components: [SignatureComponent]
  /// The parameters of the signature, in order; registered ones are properties of this type.
  public var parameters: StructuredField.Parameters

  /// Makes an input.
  public init(_ components: [SignatureComponent], parameters: StructuredField.Parameters = [:]) {
    (self.components, self.parameters) = (components, parameters)
  }

  /// When the signature was made, in whole seconds (`created`); nil if it does not say that.
  public var created: Date? {
    get { date("created") }
    set { set(newValue, "created") }
  }

  /// When the signer no longer vouches for the signature, in whole seconds (`expires`); nil for never.
  public var expires: Date? {
    get { date("expires") }
    set { set(newValue, "expires") }
  }

  /// A value that is unique for the signature, so that a verifier can detect a replay (`nonce`).
  public var nonce: String? {
    get { string("nonce") }
    set { parameters["nonce"] = newValue.map { .string($0) } }
  }

  /// The algorithm (`alg`); nil if the signature does not say it, or one that is not known here.
  public var algorithm: SignatureAlgorithm? {
    get { string("alg").flatMap(SignatureAlgorithm.init) }
    set { parameters["alg"] = newValue.map { .string($0.rawValue) } }
  }

  /// The identifier of the key (`keyid`).
  public var keyID: String? {
    get { string("keyid") }
    set { parameters["keyid"] = newValue.map { .string($0) } }
  }

  /// The application that the signature is for (`tag`).
  public var tag: String? {
    get { string("tag") }
    set { parameters["tag"] = newValue.map { .string($0) } }
  }

  private func date(_ key: String) -> Date? {
    guard case .integer(let seconds)? = parameters[key] else { return nil }
    return Date(timeIntervalSince1970: TimeInterval(seconds))
  }

  private mutating func set(_ date: Date?, _ key: String) {
    // A structured field has at most 15 digits.
    let seconds = date.map { $0.timeIntervalSince1970.rounded(.down) }
    parameters[key] = seconds.map { .integer(Int64(min(max($0, -1e14), 1e14))) }
  }

  private func string(_ key: String) -> String? {
    if case .string(let text)? = parameters[key] { text } else { nil }
  }
}

extension SignatureInput {
  /// The maximum number of components of a signature that is verified.
  static let componentLimit = 100

  var member: StructuredField.InnerList { StructuredField.InnerList(components.map(\.item), parameters: parameters) }

  /// Reads a member of `Signature-Input`.
  ///
  /// - Throws: ``SignatureError`` of kind `.malformedSignature` if it is not one, or a parameter has another type than
  ///   the one that is registered (§6.3).
  init(_ member: StructuredField.Member) throws(SignatureError) {
    guard let list = member.innerList, list.items.count <= Self.componentLimit else {
      throw SignatureError(
        .malformedSignature,
        "a member of Signature-Input is not a list in parentheses of at most \(Self.componentLimit) components")
    }
    self.init([], parameters: list.parameters)
    for item in list.items {
      guard let component = SignatureComponent(item) else {
        throw SignatureError(.malformedSignature, "a component in Signature-Input is not a string in quotes")
      }
      components.append(component)
    }
    for (key, value) in parameters {
      switch (key, value) {
      case ("created", .integer), ("expires", .integer), ("nonce", .string), ("alg", .string), ("keyid", .string),
        ("tag", .string):
        break
      case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _):
        throw SignatureError(
          .malformedSignature, "the parameter '\(key)' of a signature has another type (RFC 9421 §2.3)")
      default: break
      }
    }
  }
}
