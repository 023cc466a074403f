package import MartletSemantics

#if canImport(FoundationNetworking)
package import FoundationNetworking
#else
package import Foundation
#endif

/// Makes our fields of Foundation's dictionary, as far as that can be done.
package enum ReceivedHead {
  package static func head(of response: HTTPURLResponse) -> ResponseHead {
    var head = ResponseHead(status: HTTPStatus(response.statusCode))
    let lines = response.allHeaderFields.compactMap { key, value -> (FieldName, String)? in
      guard let name = key as? String, let name = try? FieldName(name) else { return nil }
      return (name, String(describing: value))
    }
    // A dictionary has no order, so it may as well be the same every time.
    for (name, value) in lines.sorted(by: { $0.0.canonicalName < $1.0.canonicalName }) {
      for line in name == .setCookie ? cookies(in: value) : [value] { head.fields.appendReceived(name, line) }
    }
    return head
  }

  /// Takes joined `Set-Cookie` lines apart: at a comma that a new cookie's name and `=` follow. The comma in a date is
  /// followed by neither.
  static func cookies(in joined: String) -> [String] {
    var lines: [String] = []
    for part in joined.split(separator: ",", omittingEmptySubsequences: false) {
      if lines.isEmpty || startsCookie(part) {
        lines.append(String(ASCII.trimmed(part)))
      } else {
        lines[lines.count - 1] += "," + part
      }
    }
    return lines
  }

  private static func startsCookie(_ part: Substring) -> Bool {
    let pair = ASCII.trimmed(part.prefix { $0 != ";" })
    guard let equals = pair.firstIndex(of: "=") else { return false }
    return Token.isValid(String(pair[..<equals]))
  }
}
