public import MartletEngine
public import MartletSemantics

/// A signature that a peer asks for: a member of `Accept-Signature` (RFC 9421 §5).
///
/// A server asks for signed requests, in most cases with a 401. Its `nonce` makes each signature usable once.
///
/// ```swift
/// for wanted in try SignatureRequest.all(in: response.fields) where wanted.tag == "app-123" {
///   let signer = try RequestSigner(answering: wanted, with: key, for: .origin(of: request.url))
///   request.options.interceptors.append(signer)
/// }
/// ```
///
/// A server accepts a nonce once, so a request that is sent again with the same one is refused: ask anew.
///
/// A client asks for a signed response with ``fields(for:)``.
///
/// The peer chooses what is signed: do not use a key for that whose signatures have a meaning elsewhere, or check
/// ``components`` and ``tag`` before.
public struct SignatureRequest: Sendable, Hashable {
  /// The label that the signature must have.
  public let label: String
  /// The components that it must cover, and no others.
  public let components: [SignatureComponent]
  /// The parameters, in order; registered ones are properties of this type.
  public let parameters: StructuredField.Parameters

  /// Makes a request for a signature.
  ///
  /// - Parameters:
  ///   - label: the label of the signature.
  ///   - components: the components that it covers; those of the request have `req` if a response is to be signed.
  ///   - parameters: such as `["created": .boolean(true), "keyid": .string("server-1")]`; none by default.
  public init(
    label: String = "sig1", _ components: [SignatureComponent], parameters: StructuredField.Parameters = [:]
  ) {
    (self.label, self.components, self.parameters) = (label, components, parameters)
  }

  /// Whether the signature must say when it was made (`created`).
  public var wantsCreated: Bool { parameters["created"] == .boolean(true) }
  /// Whether the signature must say when it expires (`expires`).
  public var wantsExpires: Bool { parameters["expires"] == .boolean(true) }
  /// The nonce that the signature must have; nil for none.
  public var nonce: String? { string("nonce") }
  /// The name of the algorithm (`alg`), which may be one that is not known here; nil for any.
  public var algorithmName: String? { string("alg") }
  /// The identifier of the key; nil for any.
  public var keyID: String? { string("keyid") }
  /// The tag that the signature must have; nil for none.
  public var tag: String? { string("tag") }

  private func string(_ key: String) -> String? {
    if case .string(let text)? = parameters[key] { text } else { nil }
  }

  /// The maximum number of requests of a message that are read.
  private static let limit = 16

  /// Returns the signatures that a message asks for, in order: at most 16.
  ///
  /// - Throws: ``SignatureError`` of kind `.malformedSignature` if the field is no dictionary, or a member or a
  ///   parameter has another type (§5.1).
  public static func all(in fields: HTTPFields) throws(SignatureError) -> [SignatureRequest] {
    let members: StructuredField.Dictionary?
    do throws(StructuredField.SyntaxError) {
      members = try fields.structured("Accept-Signature", as: StructuredField.Dictionary.self)
    } catch {
      throw SignatureError(.malformedSignature, "Accept-Signature is not a dictionary: \(error.description)")
    }
    var all: [SignatureRequest] = []
    for (label, member) in members ?? [:] where all.count < limit {
      all.append(try SignatureRequest(label, member))
    }
    return all
  }

  private init(_ label: String, _ member: StructuredField.Member) throws(SignatureError) {
    guard let list = member.innerList, list.items.count <= SignatureInput.componentLimit else {
      throw Self.malformed("the member '\(label)' is not a list of at most \(SignatureInput.componentLimit) components")
    }
    var components: [SignatureComponent] = []
    for item in list.items {
      guard let component = SignatureComponent(item) else {
        throw Self.malformed("a component of '\(label)' is not a string in quotes")
      }
      components.append(component)
    }
    for (key, value) in list.parameters {
      switch (key, value) {
      case ("created", .boolean(true)), ("expires", .boolean(true)), ("nonce", .string), ("alg", .string),
        ("keyid", .string), ("tag", .string):
        break
      case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _):
        throw Self.malformed("the parameter '\(key)' of '\(label)' has another type")
      default: break
      }
    }
    self.init(label: label, components, parameters: list.parameters)
  }

  private static func malformed(_ problem: String) -> SignatureError {
    SignatureError(.malformedSignature, "Accept-Signature: \(problem) (RFC 9421 §5.1)")
  }

  /// The field that asks for these signatures, to be added to a message.
  ///
  /// - Throws: ``SignatureError`` of kind `.malformedSignature` if a label or a parameter cannot be sent.
  public static func fields(for requests: [SignatureRequest]) throws(SignatureError) -> HTTPFields {
    var members = StructuredField.Dictionary()
    for request in requests {
      members[request.label] = .innerList(
        StructuredField.InnerList(request.components.map(\.item), parameters: request.parameters))
    }
    do throws(StructuredField.SyntaxError) { return ["Accept-Signature": try members.serialized()] } catch {
      throw malformed("a label or a parameter cannot be sent: \(error.description)")
    }
  }
}

extension RequestSigner {
  /// Makes a signer that signs requests as a server asks for it (RFC 9421 §5.2): with its label and its components,
  /// and with the nonce, the tag and the algorithm that it names.
  ///
  /// - Parameters:
  ///   - request: what the server asks for.
  ///   - key: a private key, or a secret.
  ///   - scope: the origins whose requests are signed.
  ///   - lifetime: how long a signature is valid if the server asks for `expires`; five minutes by default.
  /// - Throws: ``SignatureError`` of kind `.unknownKey` if the server asks for another key, or `.otherAlgorithm` for
  ///   another algorithm than the key's.
  public init(
    answering request: SignatureRequest, with key: SignatureKey, for scope: CredentialScope,
    lifetime: Duration = .seconds(300)
  ) throws(SignatureError) {
    if let wanted = request.keyID, wanted != key.id {
      throw SignatureError(
        .unknownKey, "the server asks for a signature by the key '\(wanted)', and this one is '\(key.id ?? "")'")
    }
    if let wanted = request.algorithmName, wanted != key.algorithm.rawValue {
      throw SignatureError(
        .otherAlgorithm, "the server asks for the algorithm '\(wanted)', and the key has '\(key.algorithm.rawValue)'")
    }
    self.init(key, covering: request.components, for: scope)
    (label, tag, namesAlgorithm) = (request.label, request.tag, request.algorithmName != nil)
    if request.wantsExpires { self.lifetime = lifetime }
    if let nonce = request.nonce { makeNonce = { nonce } }
  }
}
