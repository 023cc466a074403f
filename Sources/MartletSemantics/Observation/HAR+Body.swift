extension HAR {
  /// A request's body.
  public struct PostData: Sendable, Hashable, Codable {
    /// The media type; empty where the request named none.
    public var mimeType: String
    /// The fields of a form, where they are given one by one; ``text`` is then nil.
    public var params: [Param]?
    /// The body as text.
    public var text: String?
    /// `base64` where ``text`` is that. An addition to the format, as `_encoding`; `encoding` is read too.
    public var encoding: String?
    /// A remark: here whether the body was cut off.
    public var comment: String?

    private enum CodingKeys: String, CodingKey {
      case mimeType, params, text, comment
      case encoding = "_encoding"
    }

    private enum OtherKeys: String, CodingKey { case encoding }

    /// Makes a body of bytes: as text where they are text, else in base64.
    public init(mimeType: String, bytes: Data) {
      self.mimeType = mimeType
      (text, encoding) = HAR.text(of: bytes, mimeType: mimeType)
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      mimeType = values.text(.mimeType) ?? ""
      params = values.value(.params)
      text = values.text(.text)
      encoding = values.text(.encoding) ?? (try? decoder.container(keyedBy: OtherKeys.self))?.text(.encoding)
      comment = values.text(.comment)
    }

    /// The bytes of the body: those of ``text``, or a form made of ``params``. nil where neither is there.
    public var bytes: Data? {
      if let text { return HAR.bytes(of: text, encoding: encoding) }
      guard let params, !params.isEmpty else { return nil }
      return Data(PercentEncoding.form.encode(params.map { (name: $0.name, value: $0.value ?? "") }).utf8)
    }
  }

  /// A field of a form.
  public struct Param: Sendable, Hashable, Codable {
    /// Its name.
    public var name: String
    /// Its value, or the content of a file.
    public var value: String?
    /// The name of a file.
    public var fileName: String?
    /// The media type of a file.
    public var contentType: String?
    /// A remark.
    public var comment: String?

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      name = values.text(.name) ?? ""
      value = values.text(.value)
      fileName = values.text(.fileName)
      contentType = values.text(.contentType)
      comment = values.text(.comment)
    }
  }

  /// A response's body.
  public struct Content: Sendable, Hashable, Codable {
    /// How many bytes it had, unpacked, be they recorded or not.
    public var size: Int64
    /// How many bytes packing saved.
    public var compression: Int64?
    /// The media type; empty where the response named none.
    public var mimeType: String
    /// The body as text; nil where it was not recorded.
    public var text: String?
    /// `base64` where ``text`` is that.
    public var encoding: String?
    /// A remark: here whether the body was cut off.
    public var comment: String?

    /// Makes a body that was not recorded.
    public init(size: Int64, mimeType: String) {
      self.size = size
      self.mimeType = mimeType
    }

    /// Makes a body of bytes: as text where they are text, else in base64.
    public init(mimeType: String, bytes: Data) {
      self.init(size: Int64(bytes.count), mimeType: mimeType)
      (text, encoding) = HAR.text(of: bytes, mimeType: mimeType)
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(size: values.integer(.size) ?? 0, mimeType: values.text(.mimeType) ?? "")
      compression = values.integer(.compression)
      text = values.text(.text)
      encoding = values.text(.encoding)
      comment = values.text(.comment)
    }

    /// The bytes of ``text``; nil where it is not there or no base64.
    public var bytes: Data? { text.flatMap { HAR.bytes(of: $0, encoding: encoding) } }
  }

  private static func bytes(of text: String, encoding: String?) -> Data? {
    guard let encoding, ASCII.equalIgnoringCase(encoding, "base64") else { return Data(text.utf8) }
    return Data(base64Encoded: text, options: .ignoreUnknownCharacters)
  }

  /// Text where the type says so, or says nothing, and the bytes are UTF-8 without NUL; base64 otherwise.
  private static func text(of bytes: Data, mimeType: String) -> (String, encoding: String?) {
    let type = MediaType(mimeType)
    if type?.isText ?? true, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) {
      return (text, nil)
    }
    return (bytes.base64EncodedString(), "base64")
  }
}

extension MediaType {
  /// Whether people can read it.
  package var isText: Bool {
    if type == "text" || isJSON || suffix == "xml" || type == "multipart" || charset != nil { return true }
    return type == "application"
      && [
        "xml", "javascript", "ecmascript", "x-javascript", "x-www-form-urlencoded", "x-ndjson", "jsonl", "graphql",
        "yaml", "x-yaml", "toml", "sql",
      ].contains(subtype)
  }
}
