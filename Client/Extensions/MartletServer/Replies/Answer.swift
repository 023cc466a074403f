public import MartletSemantics

/// The short forms that a server's ``Reply`` and a ``MockResponse`` share.
///
/// ```swift
/// let replies: [Reply] = [.text("hello"), .json(#"{"id": 1}"#), .status(404), .redirect(to: "/there")]
/// let response = MockResponse.redirect(to: "/there").with(.setCookie, "a=1")
/// ```
public protocol Answer: Sendable {
  /// The status.
  var status: HTTPStatus { get set }
  /// The fields, in the order in which they are sent.
  var fields: HTTPFields { get set }
  /// Makes an answer from its parts.
  init(status: HTTPStatus, fields: HTTPFields, content: Data)
}

extension Answer {
  /// Text, as `text/plain; charset=utf-8`.
  public static func text(_ text: String, status: HTTPStatus = .ok) -> Self {
    data(Data(text.utf8), type: "text/plain; charset=utf-8", status: status)
  }

  /// JSON text, as `application/json`.
  public static func json(_ text: String, status: HTTPStatus = .ok) -> Self {
    data(Data(text.utf8), type: "application/json", status: status)
  }

  /// A value, encoded as JSON.
  ///
  /// - Throws: the encoder's error.
  public static func json(encoding value: some Encodable, status: HTTPStatus = .ok) throws -> Self {
    data(try JSONEncoder().encode(value), type: "application/json", status: status)
  }

  /// Bytes of a media type; `application/octet-stream` by default.
  public static func data(
    _ data: Data, type: String = "application/octet-stream", status: HTTPStatus = .ok
  ) -> Self {
    Self(status: status, fields: [.contentType: type], content: data)
  }

  /// A status without content.
  public static func status(_ status: HTTPStatus, fields: HTTPFields = [:]) -> Self {
    Self(status: status, fields: fields, content: Data())
  }

  /// A redirect; 302 by default.
  public static func redirect(to location: String, status: HTTPStatus = .found) -> Self {
    Self(status: status, fields: [.location: location], content: Data())
  }

  /// Returns the answer with one more field line; lines of the same name stay.
  public func with(_ name: FieldName, _ value: String) -> Self {
    var copy = self
    copy.fields.append(value, for: name)
    return copy
  }
}
