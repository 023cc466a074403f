import MartletSemantics

/// Media types as a web server names them.
enum MediaTypes {
  /// The type of a file, by the extension of its name; text counts as UTF-8.
  static func type(ofName name: String) -> String {
    let type = MediaType.ofFile(named: name)
    return type.type == "text" ? "\(type); charset=utf-8" : type.description
  }
}
