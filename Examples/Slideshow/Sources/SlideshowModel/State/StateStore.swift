package import MartletSemantics

/// A small JSON file with what is remembered of each slideshow.
///
/// It is replaced as a whole, so that a reader never sees half of it. A file that cannot be read, such as another
/// user's, is left as it is. One that is not JSON is set aside as `…corrupt`, never overwritten.
package struct StateStore: Sendable {
  package let file: URL
  /// The slideshow's name in the file.
  private let name: String

  private struct Document: Codable {
    var slideshows: [String: KeptState] = [:]
    var demoPort: Int?
  }

  /// Makes a store for one slideshow, named by its URL for example.
  package init(file: URL, name: String) {
    self.file = file
    self.name = name
  }

  /// Where the file is by default: `$XDG_STATE_HOME` or `~/.local/state`, and there `martlet-slideshow/state.json`.
  package static func defaultFile(environment: [String: String]) -> URL {
    UserFolder.state.url(environment: environment).appending(path: "martlet-slideshow/state.json")
  }

  /// Reads what is remembered; nothing, where there is no file yet. The warning is for people.
  package func load() -> (state: KeptState, warning: Explanation?) {
    let (document, warning) = read()
    return (document?.slideshows[name] ?? KeptState(), warning)
  }

  /// Writes what is to be remembered, leaving the other slideshows in the file as they are.
  ///
  /// - Returns: A warning for people if that was not possible.
  package func save(_ state: KeptState) -> Explanation? {
    change { $0.slideshows[name] = state }
  }

  /// The port that the demo service had last: with the same one, what is cached of it is found again.
  package var demoPort: Int? { read().0?.demoPort }

  /// Remembers the port of the demo service.
  ///
  /// - Returns: A warning for people if that was not possible.
  package func save(demoPort: Int) -> Explanation? {
    change { $0.demoPort = demoPort }
  }

  private func change(_ change: (inout Document) -> Void) -> Explanation? {
    let (read, warning) = read()
    guard var document = read else { return warning }
    change(&document)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    do {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try encoder.encode(document).write(to: file, options: .atomic)
      return warning
    } catch {
      return Explanation(
        "Favourites and title cannot be saved: choose another file with --state.", details: "\(file.path): \(error)")
    }
  }

  /// Returns what the file contains; nil if it must not be replaced.
  private func read() -> (Document?, warning: Explanation?) {
    let data: Data
    do { data = try Data(contentsOf: file) } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
      return (Document(), nil)
    } catch {
      let sentence =
        "The file with favourites and title cannot be read, and nothing is saved: choose another with --state."
      return (nil, Explanation(sentence, details: "\(file.path): \(error)"))
    }
    if let document = try? JSONDecoder().decode(Document.self, from: data) { return (document, nil) }
    let aside = file.appendingPathExtension("corrupt")
    try? FileManager.default.removeItem(at: aside)
    do { try FileManager.default.moveItem(at: file, to: aside) } catch {
      let sentence = "The file with favourites and title is damaged, and cannot be set aside."
      return (nil, Explanation(sentence, details: file.path))
    }
    let sentence = "The file with favourites and title was damaged: it was set aside, and a new one is begun."
    return (Document(), Explanation(sentence, details: "\(file.path) is now \(aside.lastPathComponent)"))
  }
}
