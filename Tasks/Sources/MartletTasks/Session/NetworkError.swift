@_spi(Toolkit) import MartletSemantics
public import Martlet

/// The reason why a task failed, other than errors of the call (`HTTPError`) and of decoding (`DecodingError`).
@nonexhaustive public enum NetworkError: Error, Sendable, Hashable {
  /// The service responded with an error; the message is from its body.
  case service(ServiceMessage)
  /// There are no credentials; see ``Authenticator/authenticate()``.
  case unauthenticated
  /// An unknown error, for an app's mappings.
  case unknown
}

extension NetworkError: LocalizedError, CustomStringConvertible {
  /// The service's text.
  public var errorDescription: String? { description }

  /// The service's text, with its status.
  public var description: String {
    switch self {
    case .service(let message): "\(message.text) (\(message.statusCode))"
    case .unauthenticated: "there are no credentials"
    case .unknown: "an unknown network error"
    }
  }
}

/// The message of a service in the body of an error response.
///
/// It is read from the members `message`, `title`, `detail` (RFC 9457), `error`, `error_description` (RFC 6749 §5.2),
/// `errors` (texts, or objects with a message) and `code` of a JSON body, or from a plain text. For all other bodies,
/// such as HTML, it is the reason phrase of the response.
public struct ServiceMessage: Sendable, Hashable {
  /// The status code.
  public let statusCode: Int
  /// The text.
  public let text: String
  /// The service's code, nil if there is none.
  public let code: String?
  /// The original body.
  public let data: Data

  /// Reads the message of a response.
  public init(_ response: HTTPResponse, data: Data) {
    let members = try? JSONDecoder().decode(MessageMembers.self, from: data)
    let isText = response.fields.mediaType?.essence == "text/plain"
    let plain = isText ? String(decoding: data.prefixOfText(500), as: UTF8.self) : nil
    statusCode = response.status.code
    let texts = [members?.best, plain, response.reason.printable].compactMap(\.self)
    text = texts.first { !$0.isEmpty } ?? "the service responded with an error"
    code = members?.code
    self.data = data
  }
}

extension ServiceMessage: CustomReflectable {
  /// A mirror without the bytes of the body.
  public var customMirror: Mirror {
    Mirror(self, children: ["statusCode": statusCode, "text": text, "code": code as Any, "data": "\(data)"])
  }
}

/// The members that services use; a member of an unexpected type is ignored. Every member is read once, so that the
/// time for a deeply nested body is linear.
private struct MessageMembers: Decodable {
  var best: String?
  var code: String?

  private enum Name: String, CodingKey {
    case message, detail, title, error, errors, code
    case errorDescription = "error_description"
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Name.self)
    code = try? members.decode(String.self, forKey: .code)
    code = code ?? (try? members.decode(Int.self, forKey: .code)).map { String($0) }
    for name in [Name.message, .detail, .errorDescription, .title, .error, .errors] { read(name, of: members) }
  }

  private mutating func read(_ name: Name, of members: KeyedDecodingContainer<Name>) {
    if let text = try? members.decode(String.self, forKey: name) {
      best = best ?? (text.isEmpty ? nil : text)
    } else if let inner = try? members.decode(MessageMembers.self, forKey: name) {
      (best, code) = (best ?? inner.best, code ?? inner.code)
    } else if let texts = try? members.decode([String].self, forKey: name) {
      best = best ?? texts.first
    } else if let all = try? members.decode([MessageMembers].self, forKey: name) {
      (best, code) = (best ?? all.lazy.compactMap(\.best).first, code ?? all.lazy.compactMap(\.code).first)
    }
  }
}
