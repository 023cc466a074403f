@_spi(Toolkit) import MartletSemantics

/// The name of a downloaded file, from a server's response or the URL. It is never a path, and never hidden.
enum DownloadName {
  /// The name of a file without a usable name.
  static let fallback = "download"
  /// Linux file systems allow 255 bytes; the rest is for numbers and the names of partial files.
  private static let byteLimit = 200

  /// Returns the name from `Content-Disposition` (RFC 6266), or else from the URL.
  static func name(_ fields: HTTPFields, _ url: URL) -> String {
    fields[values: .contentDisposition].flatMap(dispositions).lazy.compactMap(suggested).first ?? name(of: url)
  }

  /// The last part of the URL's path.
  static func name(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    let last = path.split(separator: "/").last.map { PercentEncoding.pathSegment.decode($0) } ?? ""
    return checked(last) ?? fallback
  }

  /// Returns the values of a line: a server, or a program on the way, may have joined several. A comma alone separates
  /// nothing, because many servers send names that contain one without quotes.
  private static func dispositions(in line: String) -> [Substring] {
    let starts = FieldList.elements(of: line[...]).dropFirst().filter { element in
      let type = ASCII.trimmed(element.prefix { $0 != ";" })
      return ASCII.equalIgnoringCase(type, "attachment") || ASCII.equalIgnoringCase(type, "inline")
    }
    let bounds = [line.startIndex] + starts.map(\.startIndex) + [line.endIndex]
    return zip(bounds, bounds.dropFirst()).map { start, end in
      var value = ASCII.trimmed(line[start..<end])
      if end != line.endIndex, value.hasSuffix(",") { value.removeLast() }
      return value
    }
  }

  /// The name in a `Content-Disposition`; nil if there is none, or if it cannot be the name of a file.
  static func suggested(by disposition: some StringProtocol) -> String? {
    let parameters = FieldParameters(parsing: disposition.drop { $0 != ";" })
    if let extended = parameters["filename*"].flatMap(extended), let name = checked(extended) { return name }
    guard let plain = parameters["filename"] else { return nil }
    // Many servers send UTF-8 where only US-ASCII is allowed.
    return checked(String(validating: FieldOctets.bytes(plain), as: UTF8.self) ?? plain)
  }

  /// Decodes `UTF-8'en'na%C3%AFve.txt` (RFC 8187 §3.2), even in ISO-8859-1, which RFC 5987 allowed. nil if it is
  /// malformed or in another charset: `filename` is then the better name.
  private static func extended(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = octets(parts[2]) else { return nil }
    if ASCII.equalIgnoringCase(parts[0], "utf-8") { return String(validating: bytes, as: UTF8.self) }
    guard ASCII.equalIgnoringCase(parts[0], "iso-8859-1") else { return nil }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Decodes percent-encoding; nil if a percent sign is not followed by two digits.
  private static func octets(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = PercentEncoding.hexadecimalPair(in: rest) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  /// Returns the name without folders and other parts that do not belong in it; nil if nothing is left.
  ///
  /// It works on scalars: a slash or a dot before a combining mark is another character, but the same byte.
  static func checked(_ text: String) -> String? {
    let last = text.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? Substring.UnicodeScalarView()
    let visible = last.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: false
      default: true
      }
    }.drop { $0 == "." || $0 == " " || $0 == "-" }
    let end = visible.lastIndex { $0 != " " && $0 != "." }.map { visible.index(after: $0) } ?? visible.startIndex
    return end == visible.startIndex ? nil : shortened(visible[..<end])
  }

  /// Keeps the end, which shows the type of the file. A character with many combining marks may lose some.
  private static func shortened(_ name: Substring.UnicodeScalarView) -> String {
    let text = String(Substring(name))
    guard text.utf8.count > byteLimit else { return text }
    let end = name.lastIndex(of: ".").map { String(Substring(name[$0...])) } ?? ""
    let ending = end.utf8.count <= 20 ? end : ""
    var room = byteLimit - ending.utf8.count
    let beginning = name.prefix { scalar in
      room -= UTF8.width(scalar)
      return room >= 0
    }
    return String(Substring(beginning)) + ending
  }

  /// `film.mp4`, `film-1.mp4`, `film-2.mp4`.
  static func numbered(_ name: String, _ number: Int) -> String {
    guard number > 0 else { return name }
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(name)-\(number)" }
    return "\(name[..<dot])-\(number)\(name[dot...])"
  }
}
