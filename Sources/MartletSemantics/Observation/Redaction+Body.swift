extension Redaction {
  /// A body without its secrets: members of JSON and fields of forms whose names are hidden. Other types stay as they are.
  ///
  /// The body may be cut off at any byte. What is declared as text, or not declared at all, and begins like JSON counts as
  /// JSON.
  public func redacted(_ body: Data, type: MediaType?) -> Data {
    guard !hidesNothing, !body.isEmpty else { return body }
    if let type, type.matches("application/x-www-form-urlencoded") {
      return Data(parameters(String(decoding: body, as: UTF8.self)[...], separator: "&").utf8)
    }
    if let type, type.type == "multipart" {
      return type.parameters["boundary"].map { multipart(body, boundary: $0) } ?? body
    }
    let mayBeJSON = type.map { $0.isJSON || $0.type == "text" || $0.subtype.hasSuffix("json") } ?? true
    guard mayBeJSON, type?.isJSON == true || body.beginsLikeJSON else { return body }
    return JSONRedactor(self).redacted(body)
  }

  /// Whether secrets can be found in a body that these fields describe: not where it is compressed.
  package func canSearch(_ fields: HTTPFields) -> Bool {
    hidesNothing || fields.list(.contentEncoding).allSatisfy { ASCII.equalIgnoringCase($0, "identity") }
  }

  /// The parts of RFC 7578 §4: a part whose name is hidden loses its content.
  private func multipart(_ body: Data, boundary: String) -> Data {
    let delimiter = Data("--\(boundary)".utf8)
    var redacted = Data()
    var rest = body[...]
    while let start = rest.firstRange(of: delimiter) {
      redacted += rest[..<start.upperBound]
      rest = rest[start.upperBound...]
      let end = rest.firstRange(of: Data("\r\n".utf8) + delimiter)?.lowerBound ?? rest.endIndex
      redacted += part(rest[..<end])
      rest = rest[end...]
    }
    return redacted + rest
  }

  private func part(_ part: Data) -> Data {
    guard let end = part.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound else { return part }
    var name: String?
    var type: MediaType?
    for line in String(decoding: part[..<end], as: UTF8.self).split(separator: "\r\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...]
      switch ASCII.lowercased(ASCII.trimmed(line[..<colon])) {
      case "content-disposition": name = FieldParameters(parsing: value)["name"]
      case "content-type": type = MediaType(value)
      default: break
      }
    }
    if let name, hides(name: name) { return part[..<end] + Data(placeholder.utf8) }
    guard let type else { return part }
    return part[..<end] + redacted(Data(part[end...]), type: type)
  }
}

extension Data {
  fileprivate var beginsLikeJSON: Bool {
    let first = first { !ASCII.isWhitespace($0) && $0 != 10 && $0 != 13 }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }
}
