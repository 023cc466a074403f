/// The token of RFC 9110 §5.6.2: what field names, methods and parameter names are made of.
package enum Token {
  package static func isValid(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenCharacter)
  }

  package static func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122: true
    case 33, 35, 36, 37, 38, 39, 42, 43, 45, 46, 94, 95, 96, 124, 126: true  // !#$%&'*+-.^_`|~
    default: false
    }
  }
}
