public import Martlet

/// What a service says in the body of a failure: the best text that can be found in it.
///
/// Understood are the members `message`, `title`, `detail` (RFC 9457), `error`, `error_description` (RFC 6749 §5.2),
/// `errors` (texts, or objects with a message) and `code`, wherever one of them is a text; plain text as it is; and for
/// everything else (HTML, nothing) the status's phrase.
public struct ServiceMessage: Sendable, Hashable {
  /// The status code.
  public let statusCode: Int
  /// The text for people.
  public let text: String
  /// The service's code, nil if there is none.
  public let code: String?
  /// The body as it came.
  public let data: Data

  /// Reads the message of a response.
  public init(_ response: HTTPResponse, data: Data) {
    let members = try? JSONDecoder().decode(MessageMembers.self, from: data)
    let isText = response.fields.mediaType?.essence == "text/plain"
    let plain = isText ? String(decoding: data.prefix(500), as: UTF8.self) : nil
    statusCode = response.status.code
    let texts = [members?.best, plain, response.status.reasonPhrase].compactMap(\.self)
    text = texts.first { !$0.isEmpty } ?? "the service failed"
    code = members?.code
    self.data = data
  }
}

/// The members that services use, each left out where it is something else than expected. Every member is read once, so that
/// a deeply nested body takes no longer than it is long.
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
