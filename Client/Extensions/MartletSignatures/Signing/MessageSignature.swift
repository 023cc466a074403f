public import MartletSemantics

/// A signature of a message: what it covers, and its bytes, under a label that distinguishes the signatures of one
/// message (RFC 9421 §3, §4).
///
/// ```swift
/// let context = SignatureContext(RequestHead(method: .get, url: url, fields: fields))
/// let signature = try MessageSignature(SignatureInput([.method, .authority]), label: "sig1", of: context, with: key)
/// for (name, value) in signature.fields { fields.append(value, for: name) }
/// ```
///
/// A session signs its requests by a ``RequestSigner``, and verifies responses by a ``ResponseVerifier``.
public struct MessageSignature: Sendable, Hashable {
  /// The label: the key of the dictionaries `Signature` and `Signature-Input`.
  public let label: String
  /// The covered components and the metadata.
  public let input: SignatureInput
  /// The signature.
  public let bytes: Data

  /// Signs a message (§3.1).
  ///
  /// - Parameters:
  ///   - input: the components and the metadata.
  ///   - label: the label: lower-case letters, digits and `_-.*`, beginning with a letter or `*`.
  ///   - context: the message.
  ///   - key: the key.
  /// - Throws: ``SignatureError`` of kind `.unknownComponent` if the message does not have a component,
  ///   `.unusableKey` if the key cannot sign, or `.malformedSignature` if the label or a parameter cannot be sent.
  public init(
    _ input: SignatureInput, label: String, of context: SignatureContext, with key: SignatureKey
  ) throws(SignatureError) {
    let base = try SignatureBase(input, of: context)
    (self.label, self.input) = (label, input)
    bytes = try key.signature(of: Data(base.text.utf8))
    do { _ = try lines() } catch {
      throw SignatureError(.malformedSignature, "the label '\(label)' is not allowed: \(error.description)")
    }
  }

  private init(label: String, input: SignatureInput, bytes: Data) {
    (self.label, self.input, self.bytes) = (label, input, bytes)
  }

  /// `Signature-Input` and `Signature` (§4.1, §4.2): append them, because a message may have several signatures.
  public var fields: HTTPFields {
    guard let (input, signature) = try? lines() else { return [:] }
    return ["Signature-Input": input, "Signature": signature]
  }

  /// What is signed, for logs: the label, the key's identifier and the components, none of which is secret.
  var summary: String {
    let key = input.keyID.map { " by the key '\($0)'" } ?? ""
    return "'\(label)'\(key), covering \(input.components.map(\.description).joined(separator: " "))"
  }

  private func lines() throws(StructuredField.SyntaxError) -> (input: String, signature: String) {
    var (inputs, signatures) = (StructuredField.Dictionary(), StructuredField.Dictionary())
    inputs[label] = .innerList(input.member)
    signatures[label] = .item(StructuredField.Item(.bytes(bytes)))
    return (try inputs.serialized(), try signatures.serialized())
  }

  /// The text that is signed (§2.5), to compare it with another implementation's if a signature is refused. It contains
  /// the covered values, which may be secret.
  ///
  /// - Throws: ``SignatureError`` of kind `.unknownComponent` if the message does not have a component.
  public static func base(_ input: SignatureInput, of context: SignatureContext) throws(SignatureError) -> String {
    try SignatureBase(input, of: context).text
  }

  /// Returns the signatures of a message, in the order of `Signature`. They are not verified yet: see
  /// ``SignatureVerifier``.
  ///
  /// - Throws: ``SignatureError`` of kind `.malformedSignature` if a field is malformed, or a signature has no input
  ///   (§3.2).
  public static func all(in fields: HTTPFields) throws(SignatureError) -> [MessageSignature] {
    let (inputs, signatures): (StructuredField.Dictionary?, StructuredField.Dictionary?)
    do throws(StructuredField.SyntaxError) {
      inputs = try fields.structured("Signature-Input", as: StructuredField.Dictionary.self)
      signatures = try fields.structured("Signature", as: StructuredField.Dictionary.self)
    } catch {
      throw SignatureError(
        .malformedSignature, "Signature or Signature-Input is not a dictionary: \(error.description)")
    }
    var all: [MessageSignature] = []
    for (label, member) in signatures ?? [:] {
      guard case .bytes(let bytes)? = member.item?.value else {
        throw SignatureError(.malformedSignature, "the member '\(label)' of Signature is not a sequence of bytes")
      }
      guard let input = inputs?[label] else {
        throw SignatureError(.malformedSignature, "Signature-Input has no member '\(label)', which Signature has")
      }
      all.append(MessageSignature(label: label, input: try SignatureInput(input), bytes: bytes))
    }
    return all
  }
}
