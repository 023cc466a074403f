@_spi(Toolkit) import MartletSemantics

/// A part of a request on the command line, in the syntax of HTTPie.
enum RequestItem: Sendable, Hashable {
  /// `Name:value`, `Name:@file`; `Name:` removes a default field.
  case field(String, Source)
  case removedField(String)
  /// `Name;`: a field with an empty value.
  case emptyField(String)
  /// `name==value`.
  case query(String, Source)
  /// `name=text`, `name=@file`. In a JSON body the name is a path (``BodyPath``), in which two backslashes stand for
  /// one; elsewhere ``plain(_:)`` is the name.
  case text(String, Source)
  /// `name:=json`, `name:=@file`, with a name like that of a text.
  case json(String, Source)
  /// `name@path`, with a type after `;type=`.
  case file(String, path: String, type: String?)
  /// `@path`, `@-`: the whole body.
  case body(path: String)

  /// The source of a value.
  enum Source: Sendable, Hashable {
    case text(String)
    case file(String)
  }

  static let help = """
    A URL without a scheme has https; for localhost, 127.0.0.1 and [::1] it has http. ':8080/a' is
    http://localhost:8080/a.

    An item is a part of the request. The first separator in it decides; a backslash before one makes it a plain
    character, even in the value: handle=\\@ada sends @ada.
      name==value     a pair of the query         Name:value    a field of the head; 'Name:' leaves one out
      name=value      text in the body            Name:@file    a field with the content of a file
      name=@file      text from a file            Name;         a field without a value
      name:=json      a number, a list (JSON)     name@file     a file in a form; ';type=image/png' after it
      name:=@file     JSON from a file            @file, @-     a file, or standard input, as the body
    Text and JSON make a JSON object, in which a name may be a path, as in HTTPie:
      user[name]=Ada  a member of an object in it   [0][id]:=1    an array as the body
      tags[]=new      an element after the last     \\[ \\] \\\\      brackets and backslashes in names
      tags[2]=third   the third element             [\\1]          a member with the name 1
    With --form they make a form, and names are taken literally. Put paths in quotes if the shell expands [].
    A body comes from standard input if that is a file or a pipe, and the command is post, put or patch.
    """

  /// The separators; if several begin at the same position, the longest counts.
  private static let separators = [":=@", ":=", ":@", "==", "=@", "=", "@", ":"]

  /// Reads an item.
  static func parse(_ text: String) throws(UsageError) -> RequestItem {
    let (name, separator, rest) = split(text)
    let value = unescaped(rest)
    guard let separator else {
      if text.hasSuffix(";"), text.count > 1 { return .emptyField(String(text.dropLast())) }
      throw UsageError(
        "'\(text)' is not an item: write name=value for the body, Name:value for a field, name==value for the query")
    }
    if name.isEmpty, separator == "@" { return .body(path: try path(value, in: text)) }
    guard !name.isEmpty else {
      let remedy = separator.hasPrefix(":=") ? ": '[]\(separator)…' is an element of an array, --raw a whole body" : ""
      throw UsageError("'\(text)' has no name before '\(separator)'\(remedy)")
    }
    let plainName = plain(name)
    switch separator {
    case ":=@": return .json(name, .file(try path(value, in: text)))
    case ":=": return .json(name, .text(value))
    case ":@": return .field(plainName, .file(try path(value, in: text)))
    case "==":
      return .query(plainName, rest.hasPrefix("@") ? .file(String(value.dropFirst())) : .text(value))
    case "=@": return .text(name, .file(try path(value, in: text)))
    case "=": return .text(name, .text(value))
    case "@": return try file(plainName, value, in: text)
    default:
      return value.isEmpty ? .removedField(plainName) : .field(plainName, .text(String(ASCII.trimmed(value))))
    }
  }

  /// The name of an item that is not a path: two backslashes stand for one.
  static func plain(_ name: String) -> String { name.replacing(#"\\"#, with: #"\"#) }

  /// The value of an item in HTTPie's syntax: a backslash before a character of a separator is removed.
  private static func unescaped(_ text: String) -> String {
    var value = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      guard character == "\\", let next = rest.popFirst() else {
        value.append(character)
        continue
      }
      value += ":=@;".contains(next) ? String(next) : "\\\(next)"
    }
    return value
  }

  /// Splits the text at the first separator that no backslash precedes; backslashes before separators are removed. Two
  /// backslashes stay, and do not escape the following character.
  private static func split(_ text: String) -> (name: String, separator: String?, value: String) {
    var name = ""
    var rest = text[...]
    while let character = rest.first {
      if character == "\\", let next = rest.dropFirst().first, ":=@;\\".contains(next) {
        name += next == "\\" ? rest.prefix(2) : rest.dropFirst().prefix(1)
        rest = rest.dropFirst(2)
      } else if let separator = separators.first(where: { rest.hasPrefix($0) }) {
        return (name, separator, String(rest.dropFirst(separator.count)))
      } else {
        name.append(character)
        rest = rest.dropFirst()
      }
    }
    return (name, nil, "")
  }

  private static func path(_ value: String, in text: String) throws(UsageError) -> String {
    guard !value.isEmpty else { throw UsageError("'\(text)' names no file after '@'") }
    return value
  }

  private static func file(_ name: String, _ value: String, in text: String) throws(UsageError) -> RequestItem {
    let mark = ";type="
    guard let range = value.firstRange(of: mark) else {
      return .file(name, path: try path(value, in: text), type: nil)
    }
    let type = String(value[range.upperBound...])
    guard MediaType(type) != nil else { throw UsageError("'\(type)' in '\(text)' is not a media type like image/png") }
    return .file(name, path: try path(String(value[..<range.lowerBound]), in: text), type: type)
  }

  /// Whether it belongs to the request's body.
  var isBody: Bool {
    switch self {
    case .text, .json, .file, .body: true
    case .field, .removedField, .emptyField, .query: false
    }
  }
}
