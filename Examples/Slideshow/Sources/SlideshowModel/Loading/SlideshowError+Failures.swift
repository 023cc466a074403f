import Martlet

// The slideshow's errors, made from those of the engine and the decoder.

extension HTTPError {
  /// Whether the server could not be reached, in contrast to an unexpected response.
  var meansServiceIsDown: Bool {
    isTransient
  }
}

extension SlideshowError {
  init(_ error: HTTPError, at url: URL) {
    if error.isCancelled {
      self = .cancelled
    } else if error.meansServiceIsDown {
      self = .serviceDown(url, reason: error.message)
    } else {
      self = .transferFailed(url, reason: error.message)
    }
  }

  /// Returns the error that names the field that could not be decoded.
  static func decoding(_ error: any Error, of data: Data, from url: URL) -> SlideshowError {
    func failure(_ path: [any CodingKey], _ reason: String) -> SlideshowError {
      .slideshowDataDecodingError(url, field: fieldName(path), reason: reason)
    }
    guard !data.isEmpty else { return failure([], "the answer is empty") }
    switch error as? DecodingError {
    case .keyNotFound(let key, let context):
      return failure(context.codingPath + [key], "it is missing")
    case .typeMismatch(let type, let context):
      return failure(context.codingPath, "it should be \(name(of: type)), and is not")
    case .valueNotFound(let type, let context):
      return failure(context.codingPath, "it should be \(name(of: type)), and is null")
    case .dataCorrupted(let context) where !context.codingPath.isEmpty:
      return failure(context.codingPath, context.debugDescription)
    default:
      let isMarkup = data.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "<")
      return failure([], isMarkup ? "it is a page of HTML or XML, not JSON" : "it is not JSON")
    }
  }

  /// `slides[1].file`
  private static func fieldName(_ path: [any CodingKey]) -> String {
    let name = path.reduce("") { text, key in
      if let index = key.intValue { return text + "[\(index)]" }
      return text.isEmpty ? key.stringValue : text + "." + key.stringValue
    }
    return name.isEmpty ? "the whole document" : name
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a text"
    case is Bool.Type: "true or false"
    case is Int.Type: "a whole number"
    case is any Collection.Type: "a list or an object"
    default: "a \(type)"
    }
  }
}
