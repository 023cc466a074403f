/// Reads and writes `cookies.txt`, the cookie file format of curl, wget, browser extensions and others.
///
/// Each line is a cookie, with seven fields separated by tabs: domain, whether subdomains receive the cookie, path,
/// whether it is secure, expiry (seconds since 1970, 0 for a session cookie), name and value. `#HttpOnly_` before the
/// domain marks an `HttpOnly` cookie; other lines that begin with `#` are comments. The format does not contain
/// `SameSite` and the times of creation and access.
@_spi(Toolkit) public enum NetscapeCookieFile {
  /// Parses the text of a file.
  ///
  /// Lenient where curl and wget differ: a leading dot or a port after the domain is removed, the tab before an empty
  /// value may be missing, and several tabs may separate fields.
  ///
  /// - Parameters:
  ///   - text: the text of the file.
  ///   - now: the creation time of the cookies. They expire at most 400 days later, like all cookies.
  /// - Returns: the cookies, including expired ones, and the problems of invalid lines.
  public static func parse(_ text: String, now: Date) -> (
    cookies: [(line: Int, cookie: Cookie)], problems: [FileProblem]
  ) {
    var cookies: [(line: Int, cookie: Cookie)] = []
    var problems: [FileProblem] = []
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      do throws(FileProblem) {
        guard let cookie = try cookie(Substring(line), number: index + 1, now: now) else { continue }
        cookies.append((index + 1, cookie))
      } catch { problems.append(error) }
    }
    return (cookies, problems)
  }

  private static let httpOnlyMark = "#HttpOnly_"

  /// Returns the cookie of a line; nil if the line is empty or a comment.
  private static func cookie(_ line: Substring, number: Int, now: Date) throws(FileProblem) -> Cookie? {
    var line = line.utf8.last == 13 ? Substring(line.utf8.dropLast()) : line
    if number == 1, line.hasPrefix("\u{FEFF}") { line = line.dropFirst() }
    let isHTTPOnly = line.hasPrefix(httpOnlyMark)
    if isHTTPOnly { line = line.dropFirst(httpOnlyMark.count) }
    guard !ASCII.trimmed(line).isEmpty, isHTTPOnly || line.utf8.first != UInt8(ascii: "#") else { return nil }

    let fields = try fields(of: line, number)
    guard let isForHosts = flag(fields[1]), let isSecure = flag(fields[3]) else {
      throw FileProblem(line: number, reason: "fields 2 and 4 must be TRUE or FALSE")
    }
    // Browsers write fractions, and -1 for session cookies.
    guard let end = TimeInterval(fields[4]), end.isFinite else {
      throw FileProblem(
        line: number, reason: "field 5 must be the expiry in seconds since 1970, or 0 for a session cookie")
    }
    guard let domain = domain(fields[0]) else {
      throw FileProblem(line: number, reason: "field 1 must be the host or domain")
    }
    guard fields[2].utf8.first == UInt8(ascii: "/") else {
      throw FileProblem(line: number, reason: "field 3 must be a path that begins with '/'")
    }
    return Cookie(
      name: String(fields[5]), value: String(fields[6]), domain: domain, isHostOnly: !isForHosts,
      path: String(fields[2]),
      expires: end <= 0 ? nil : min(Date(timeIntervalSince1970: end), now.addingTimeInterval(SetCookie.ageLimit)),
      isSecure: isSecure, isHTTPOnly: isHTTPOnly, created: now)
  }

  private static func fields(of line: Substring, _ number: Int) throws(FileProblem) -> [Substring] {
    let tab = UInt8(ascii: "\t")
    var fields = line.utf8.split(separator: tab, omittingEmptySubsequences: false).map { Substring($0) }
    if fields.count > 7 { fields = fields.filter { !$0.isEmpty } }
    if fields.count == 6 { fields.append("") }
    guard fields.count == 7 else {
      throw FileProblem(
        line: number, reason: "it has \(fields.count) fields: write seven, with one tab (no spaces) between")
    }
    return fields
  }

  private static func flag(_ text: Substring) -> Bool? {
    switch ASCII.lowercased(text) {
    case "true": true
    case "false": false
    default: nil
    }
  }

  /// Returns the domain without a leading dot, and without the port that wget writes for a host.
  private static func domain(_ text: Substring) -> String? {
    var text = text.utf8.first == UInt8(ascii: ".") ? text.dropFirst() : text
    let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
    if colons == 1 || text.hasPrefix("["), let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      text.utf8[text.utf8.index(after: colon)...].allSatisfy(ASCII.isDigit)
    {
      text = text[..<colon]
    }
    return HostName.canonical(text)
  }
}

extension NetscapeCookieFile {
  /// Returns the text of a file with these cookies, in order. Cookies with a tab are omitted, because the format cannot
  /// represent them.
  package static func format(_ cookies: [Cookie]) -> String {
    var text = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"
    for cookie in cookies {
      let fields = [
        (cookie.isHTTPOnly ? httpOnlyMark : "") + (cookie.isHostOnly ? "" : ".") + cookie.domain,
        cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE",
        end(of: cookie), cookie.name, cookie.value,
      ]
      guard !fields.contains(where: { $0.utf8.contains { $0 == 9 || $0 == 10 || $0 == 13 } }) else { continue }
      text += fields.joined(separator: "\t") + "\n"
    }
    return text
  }

  /// Returns whole seconds, at least one, because 0 means a session cookie.
  private static func end(of cookie: Cookie) -> String {
    guard let expires = cookie.expires?.timeIntervalSince1970 else { return "0" }
    return String(Int64(min(max(1, expires.rounded(.up)), 253_402_300_799)))
  }
}
