/// How the end of a response's body is found (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Hashable {
  /// There is none: the answer to HEAD, and every 1xx, 204 and 304 (rule 1).
  case none
  /// So many bytes (rule 6).
  case length(Int64)
  /// Chunks (rule 4).
  case chunked
  /// What comes until the connection ends (rule 8).
  case untilClose

  /// Decides by the fields that frame a message, each value as it came.
  ///
  /// - A message that has no body by its status or method is not asked for its length (rule 1).
  /// - `Transfer-Encoding` may be `chunked` and nothing else, because nothing else was offered. In a message of HTTP/1.0 it is
  ///   read too, and the connection is to be closed after it (§6.1).
  /// - Where there is a `Content-Length` beside it, chunks count (rule 3), but it has to be valid.
  /// - A `Content-Length` that is a list of one and the same number, in one line or several, is that number (rule 5).
  package init(
    status: Int, isAnswerToHead: Bool, lengths: [String], codings: [String]
  ) throws(MessageFault) {
    if isAnswerToHead || status < 200 || status == 204 || status == 304 {
      self = .none
      return
    }
    let length = try Self.length(lengths)
    guard codings.isEmpty else {
      let names = codings.flatMap { FieldList.elements(of: $0[...]) }
      guard names.count == 1, ASCII.equalIgnoringCase(names[0], "chunked") else { throw .transferEncoding }
      self = .chunked
      return
    }
    self = length.map { .length($0) } ?? .untilClose
  }

  private static func length(_ values: [String]) throws(MessageFault) -> Int64? {
    var length: Int64?
    for value in values {
      for element in value.split(separator: ",", omittingEmptySubsequences: false) {
        let digits = ASCII.trimmed(element)
        guard !digits.isEmpty, digits.utf8.allSatisfy(ASCII.isDigit), let number = Int64(digits) else {
          throw .contentLength
        }
        guard length == nil || length == number else { throw .contentLengths }
        length = number
      }
    }
    return length
  }
}
