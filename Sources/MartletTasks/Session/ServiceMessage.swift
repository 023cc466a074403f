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
    text = [members?.best, plain].compactMap(\.self).first { !$0.isEmpty } ?? "\(response.status)"
    code = members?.code
    self.data = data
  }
}

/// The members that services use, each left out where it is something else than a text.
private struct MessageMembers: Decodable {
  var best: String?
  var code: String?

  private enum Name: String, CodingKey, CaseIterable {
    case message, detail, errorDescription = "error_description", title, error, errors, code
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Name.self)
    code = (try? members.decode(String.self, forKey: .code)) ?? (try? members.decode(Int.self, forKey: .code)).map(String.init)
    for name in [Name.message, .detail, .errorDescription, .title, .error, .errors] where best == nil {
      best = Self.text(members, name)
    }
  }

  private static func text(_ members: KeyedDecodingContainer<Name>, _ name: Name) -> String? {
    if let text = try? members.decode(String.self, forKey: name) { return text.isEmpty ? nil : text }
    if let inner = try? members.decode(MessageMembers.self, forKey: name) { return inner.best }
    if let texts = try? members.decode([String].self, forKey: name) { return texts.first }
    return (try? members.decode([MessageMembers].self, forKey: name))?.lazy.compactMap(\.best).first
  }
}

/// Why a task failed, where it is not the exchange itself (``HTTPError``) and not the decoding.
public enum NetworkError: Error, Sendable, Hashable {
  /// The service said no, in its own words.
  case service(ServiceMessage)
  /// Nobody knows: for mappings that find nothing.
  case unknown
}

extension NetworkError: LocalizedError, CustomStringConvertible {
  /// The service's text.
  public var errorDescription: String? { description }

  /// The service's text, with its status.
  public var description: String {
    switch self {
    case .service(let message): "\(message.text) (\(message.statusCode))"
    case .unknown: "an unknown network error"
    }
  }
}
