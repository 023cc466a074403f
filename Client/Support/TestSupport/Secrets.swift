package import FoundationEssentials

/// A URL with a password and a token. Both are "hidden", as are all secrets in the tables of values that show none.
package let secretURL = url("https://hidden:hidden@a.example/x?access_token=hidden")

/// Returns what a program shows of a value with `print`, `debugPrint`, `dump` and `Mirror`.
package func shown(_ value: Any) -> String {
  var dumped = ""
  dump(value, to: &dumped)
  let children = Mirror(reflecting: value).children.map { "\($0)" }
  return "\(value)\n\(String(reflecting: value))\n\(dumped)\n\(children)"
}

/// Whether a program shows "hidden" of a value: as text, in Base64, or as numbers of bytes, as the dump of data does.
package func showsSecret(_ value: Any) -> Bool {
  let text = shown(value)
  let bytes = "hidden".utf8.map { "\($0)" }.joined(separator: ",")
  let numbers = text.split { " -\n,".contains($0) }.joined(separator: ",")
  return text.contains("hidden") || text.contains("aGlkZGVu") || numbers.contains(bytes)
}
