import MartletSemantics

extension RequestBody {
  /// The pairs of a form as `application/x-www-form-urlencoded` (WHATWG URL §5.2), with its `Content-Type`.
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

  /// A form with files (RFC 7578), with its `Content-Type` and boundary; see ``MultipartForm``.
  ///
  /// The parts are read while they are sent: a file costs no memory. Where the length of every part is known, so is that of
  /// the body. Each attempt reads files and streams anew.
  public static func multipart(_ form: MultipartForm) -> RequestBody {
    let boundary = form.makeBoundary()
    let plan = MultipartPlan(form, boundary: boundary)
    var type = MediaType.multipartForm
    type.parameters["boundary"] = boundary
    let fields: HTTPFields = [.contentType: type.description]
    if let data = plan.bytes {
      return RequestBody(.data(data), length: Int64(data.count), fields: fields, singleUses: [])
    }
    return RequestBody(
      .made { try await plan.open() }, length: plan.length, fields: fields,
      singleUses: form.parts.flatMap(\.body.singleUses))
  }
}
