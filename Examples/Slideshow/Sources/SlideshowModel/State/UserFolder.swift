import MartletSemantics

/// The folders for the user's files, as the XDG Base Directory Specification names them.
enum UserFolder {
  case state
  case cache

  func url(environment: [String: String]) -> URL {
    let (variable, usual) = self == .state ? ("XDG_STATE_HOME", ".local/state") : ("XDG_CACHE_HOME", ".cache")
    if let path = environment[variable], path.hasPrefix("/") { return URL(filePath: path) }
    let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    return URL(filePath: home).appending(path: usual)
  }
}
