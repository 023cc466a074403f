import MartletSemantics

/// The name of a downloaded file, from what a server or a URL says. It is never a path, and never hidden.
enum DownloadName {
  /// What a file is called that has no usable name.
  static let fallback = "download"
  /// The limit of Linux file systems is 255; the rest is for numbers and the names of partial files.
  private static let byteLimit = 200

  /// Returns the name by `Content-Disposition` (RFC 6266), or else by the URL.
  static func name(_ fields: HTTPFields, _ url: URL) -> String {
    fields[.contentDisposition].flatMap(suggested) ?? name(of: url)
  }

  /// The last part of the URL's path.
  static func name(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    let last = path.split(separator: "/").last.map { PercentEncoding.pathSegment.decode($0) } ?? ""
    return checked(last) ?? fallback
  }

  /// The name in a `Content-Disposition`; nil if there is none, or if it cannot be the name of a file.
  static func suggested(by disposition: String) -> String? {
    let parameters = FieldParameters(parsing: disposition.drop { $0 != ";" })
    if let extended = parameters["filename*"].flatMap(extended), let name = checked(extended) { return name }
    guard let plain = parameters["filename"] else { return nil }
    // many servers send UTF-8 where only US-ASCII is allowed
    return checked(String(validating: FieldOctets.bytes(plain), as: UTF8.self) ?? plain)
  }

  /// Decodes `UTF-8'en'na%C3%AFve.txt` (RFC 8187 §3.2).
  private static func extended(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, ASCII.equalIgnoringCase(parts[0], "utf-8") else { return nil }
    return PercentEncoding.pathSegment.decode(parts[2])
  }

  /// Returns the name without folders and what else does not belong into one; nil if nothing is left.
  static func checked(_ text: String) -> String? {
    let last = text.split { $0 == "/" || $0 == "\\" }.last ?? ""
    let scalars = last.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: false
      default: true
      }
    }
    let visible = String(String.UnicodeScalarView(scalars)).drop { $0 == "." || $0 == " " || $0 == "-" }
    let name = String(visible.reversed().drop { $0 == " " || $0 == "." }.reversed())
    return name.isEmpty ? nil : shortened(name)
  }

  /// Keeps the end, which says what the file is.
  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > byteLimit else { return name }
    let end = name.lastIndex(of: ".").map { String(name[$0...]) }.flatMap { $0.utf8.count <= 20 ? $0 : nil } ?? ""
    var beginning = name.prefix(byteLimit)
    while beginning.utf8.count + end.utf8.count > byteLimit { beginning.removeLast() }
    return beginning + end
  }

  /// `film.mp4`, `film-1.mp4`, `film-2.mp4`.
  static func numbered(_ name: String, _ number: Int) -> String {
    guard number > 0 else { return name }
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(name)-\(number)" }
    return "\(name[..<dot])-\(number)\(name[dot...])"
  }
}
