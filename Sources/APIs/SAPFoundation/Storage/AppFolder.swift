/// The folder with the files of this app and this user: `~/.local/share/APP` on Linux. One place decides it, so that all
/// files of an app are in one folder.
enum AppFolder {
  /// The bundle's identifier; if there is none, as on Linux, the program's name.
  static var name: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

  /// Returns the URL of a file in the folder. An absolute path is used as it is.
  static func file(_ name: String) -> URL {
    if name.hasPrefix("/") { return URL(filePath: name) }
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    return (folders.first ?? FileManager.default.temporaryDirectory)
      .appending(path: self.name, directoryHint: .isDirectory).appending(path: name)
  }
}
