/// What a server says about an error, as JSON of the type `application/problem+json` (RFC 9457).
///
/// ```swift
/// do { _ = try await session.value(of: Order.self, for: request) } catch {
///   if let problem = error.problem, problem.type == "https://example.com/probs/out-of-credit" {
///     let balance = problem.member("balance", as: Int.self)
///   }
/// }
/// ```
///
/// Decide by the ``type``, not by the texts, which are for people and may change or be translated (§3.1.3, §3.1.4). A
/// member of an unexpected type counts as missing (§3.1).
///
/// The texts may name a user's data: descriptions show only the type and the title.
public struct ProblemDetails: Sendable, Hashable {
  /// Identifies the kind of problem: a URI, or a reference relative to the URL of the response. `about:blank` if there
  /// is none: then the status says all, and the ``title`` is its phrase (§3.1.1, §4.2.1).
  public let type: String
  /// A short text for the kind of problem, the same for all of its occurrences; nil if there is none.
  public let title: String?
  /// The status that the server has sent, which an intermediary may have changed; nil if there is none (§3.1.2).
  public let status: HTTPStatus?
  /// An explanation of this occurrence, which should help to solve it; nil if there is none.
  public let detail: String?
  /// Identifies this occurrence, for the server's people: a URI reference; nil if there is none.
  public let instance: String?

  private let body: Data

  /// The maximum number of bytes that are read.
  private static let limit = 1 << 20

  /// Reads the body of a response; nil if its type is not `application/problem+json`, if it is no JSON object, or has
  /// more than 1 MiB.
  ///
  /// - Parameters:
  ///   - body: the body.
  ///   - fields: the fields of the response.
  public init?(_ body: Data, fields: HTTPFields) {
    guard fields.mediaType?.matches(.problemJSON) == true, body.count <= Self.limit,
      let members = try? JSONDecoder().decode(Members.self, from: body)
    else { return nil }
    type = members.type ?? "about:blank"
    (title, detail, instance) = (members.title, members.detail, members.instance)
    status = members.status.flatMap { (100...999).contains($0) ? HTTPStatus($0) : nil }
    self.body = body
  }

  /// Returns a member that the ``type`` defines (§3.2); nil if it is missing or has another type.
  ///
  /// - Parameters:
  ///   - name: the name of the member.
  ///   - type: the type of its value.
  public func member<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
    (try? JSONDecoder().decode([String: Lenient<Value>].self, from: body))?[name]?.value
  }

  private struct Members: Decodable {
    var type: String?
    var title: String?
    var status: Int?
    var detail: String?
    var instance: String?

    private enum Key: String, CodingKey { case type, title, status, detail, instance }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Key.self)
      func text(_ key: Key) -> String? { try? members.decode(String.self, forKey: key) }
      (type, title, detail, instance) = (text(.type), text(.title), text(.detail), text(.instance))
      status = try? members.decode(Int.self, forKey: .status)
    }
  }

  /// A value that is nil if it has another type.
  private struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws {
      value = try? decoder.singleValueContainer().decode(Value.self)
    }
  }
}
