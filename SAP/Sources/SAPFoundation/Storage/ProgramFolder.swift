/// The folders in which the sessions of the default configuration keep data of this program, for the user who runs it.
/// Only the user can read them.
///
/// On Linux they are below `$XDG_DATA_HOME` (`$HOME/.local/share`) and `$XDG_CACHE_HOME` (`$HOME/.cache`), as the XDG
/// Base Directory Specification says. A program without absolute paths in these variables has no such folders.
@_spi(Stores) public enum ProgramFolder {
  /// Cookies and passwords.
  case data
  /// Responses, which can be fetched again.
  case cache

  /// Returns the URL of a file, which need not exist, and neither need its folders.
  ///
  /// - Throws: `HTTPError` of kind `.file` if the user has no such folder.
  func file(_ name: String) throws(HTTPError) -> URL {
    try folder(in: ProcessInfo.processInfo.environment)
      .appending(path: Self.program).appending(path: "SAPFoundation").appending(path: name)
  }

  /// Returns the URL of a file of data that an app names; an absolute path is used as it is.
  ///
  /// - Throws: `HTTPError` of kind `.file` if the user has no folder for data.
  public static func dataFile(_ name: String) throws(HTTPError) -> URL {
    if name.hasPrefix("/") { return URL(filePath: name) }
    return try ProgramFolder.data.file(name)
  }

  #if os(Linux)
  /// Returns the user's folder. Foundation would take a relative path, and `/home` for a user without a home.
  func folder(in environment: [String: String]) throws(HTTPError) -> URL {
    let (variable, usual, content) =
      switch self {
      case .data: ("XDG_DATA_HOME", ".local/share", "data")
      case .cache: ("XDG_CACHE_HOME", ".cache", "caches")
      }
    if let path = environment[variable], path.hasPrefix("/") { return URL(filePath: path) }
    if let home = environment["HOME"], home.hasPrefix("/") { return URL(filePath: home).appending(path: usual) }
    throw HTTPError(
      .file, "the user has no folder for \(content): set \(variable) or HOME to an absolute path", phase: .preparing)
  }
  #else
  /// Returns the user's folder.
  func folder(in environment: [String: String]) throws(HTTPError) -> URL {
    let kind: FileManager.SearchPathDirectory = self == .data ? .applicationSupportDirectory : .cachesDirectory
    guard let folder = FileManager.default.urls(for: kind, in: .userDomainMask).first else {
      throw HTTPError(.file, "the system names no folder for the user's files", phase: .preparing)
    }
    return folder
  }
  #endif

  /// The identifier of the program's bundle; if there is none, as on Linux, the name of the program.
  static let program: String = {
    let name = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    let usable = name.split(separator: "/").last.map(String.init) ?? ""
    return usable.allSatisfy { $0 == "." } ? "program" : usable
  }()
}

/// What this program keeps from one run to the next: passwords, and the marks of shared stores.
enum ProgramValues {
  /// The values in the folder for data; nil if there can be no file, for which the log keeps a line.
  static var storage: CodableStorage? { store.map { CodableStorage(store: $0) } }

  private static let store: SQLiteDataStore? = {
    do { return try SQLiteDataStore(at: ProgramFolder.data.file("values.sqlite")) } catch {
      SessionLog.keep(.warning, nil, "nothing is kept for the next run of the program: \(error)")
      return nil
    }
  }()
}

/// Whether one of Foundation's shared stores was marked by this program in this folder. Foundation keeps cookies by the
/// name of the program's folder.
struct ProgramMark {
  private let key: String
  private let isKnown: Locked<Bool>

  static let cookies = ProgramMark("cookies")
  static let cache = ProgramMark("cache")

  private init(_ name: String) {
    key = "mark \(name) \(Bundle.main.bundlePath)"
    isKnown = Locked((try? ProgramValues.storage?.get(Bool.self, for: key)) ?? false)
  }

  var isSet: Bool { isKnown.withLock { $0 } }

  /// Sets the mark. Callers hold locks, so the log keeps the line of a failure.
  func set() {
    guard !isKnown.replace(by: true) else { return }
    do { try ProgramValues.storage?.put(true, for: key) } catch {
      SessionLog.keep(.warning, nil, "the mark of a shared store could not be stored: \(error)")
    }
  }
}
