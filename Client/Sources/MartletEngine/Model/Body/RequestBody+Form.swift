public import MartletSemantics

extension RequestBody {
  /// Returns a form as `application/x-www-form-urlencoded` (WHATWG URL §5.2), with its `Content-Type`.
  ///
  /// ```swift
  /// let request = HTTPRequest(.post, url, body: .form([("tag", "a b"), ("tag", "ü")]))   // tag=a+b&tag=%C3%BC
  /// ```
  ///
  /// - Parameter pairs: names and values, in the order in which they are sent; names may repeat.
  public static func form(_ pairs: [(name: String, value: String)]) -> RequestBody {
    var body = RequestBody.data(Data(PercentEncoding.form.encode(pairs).utf8))
    body.fields[.contentType] = MediaType.form.description
    return body
  }

  /// Returns the members of a value as a form, `application/x-www-form-urlencoded`, in the order of their names.
  ///
  /// ```swift
  /// struct Login: Encodable { var user: String, code: Int, remember: Bool }
  /// let request = HTTPRequest(.post, url, body: try .form(Login(user: "Ada", code: 7, remember: true)))
  /// // code=7&remember=true&user=Ada
  /// ```
  ///
  /// Members are written as in JSON, without quotes; nil is omitted. A form is flat: a member that is an array or has
  /// its own members is an error. For repeated names, or an order of your own, use ``form(_:)``.
  ///
  /// - Parameters:
  ///   - value: the value, a struct or a dictionary; it is encoded at once.
  ///   - encoder: decides on names and dates; with Foundation's defaults by default.
  /// - Throws: ``HTTPError`` of kind `.invalidRequest` with the member's name, and the encoder's error in
  ///   ``HTTPError/underlying``.
  public static func form(
    _ value: some Encodable, encoder: JSONEncoder = JSONEncoder()
  ) throws(HTTPError) -> RequestBody {
    do {
      let members = try JSONDecoder().decode([String: FormText].self, from: try encoder.encode(value))
      return .form(
        members.sorted { $0.key < $1.key }.compactMap { name, value in value.text.map { (name: name, value: $0) } })
    } catch {
      let place = CodingFailure(error: error).place
      throw HTTPError(
        .invalidRequest,
        "the \(type(of: value)) cannot be encoded as a form\(place): a form has one text or number for each name",
        phase: .preparing, underlying: error)
    }
  }
}

/// The text of a member in a form; nil for null.
private struct FormText: Decodable {
  let text: String?

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      text = nil
    } else if let string = try? value.decode(String.self) {
      text = string
    } else if let bool = try? value.decode(Bool.self) {
      text = String(bool)
    } else if let decimal = try? value.decode(Decimal.self) {  // exact, unlike a Double
      text = decimal.description
    } else {
      text = try value.decode(Double.self).description
    }
  }
}
