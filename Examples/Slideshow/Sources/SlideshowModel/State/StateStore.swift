package import MartletSemantics

/// A small JSON file with the kept state of each slideshow.
///
/// It is replaced as a whole, so a reader never sees half of it. A file that cannot be read, such as another user's, is
/// not changed. A file that is not JSON is renamed to `….corrupt`, or `….corrupt-2` and so on if there is one already.
package struct StateStore: Sendable {
  package let file: URL
  /// The slideshow's name in the file.
  private let name: String

  private struct Document: Codable {
    var slideshows: [String: KeptState] = [:]
    var demoPort: Int?
  }

  /// Makes a store for one slideshow, identified by its URL for example.
  package init(file: URL, name: String) {
    self.file = file
    self.name = name
  }

  /// The default location of the file: `martlet-slideshow/state.json` in `$XDG_STATE_HOME` or `~/.local/state`.
  package static func defaultFile(environment: [String: String]) -> URL {
    UserFolder.state.url(environment: environment).appending(path: "martlet-slideshow/state.json")
  }

  /// Reads the kept state; an empty one if there is no file yet. The warning is for people.
  package func load() -> (state: KeptState, warning: Explanation?) {
    let (document, warning) = read()
    return (document?.slideshows[name] ?? KeptState(), warning)
  }

  /// Writes the state, without changing the other slideshows in the file.
  ///
  /// - Returns: a warning for people if that was not possible.
  package func save(_ state: KeptState) -> Explanation? {
    change { $0.slideshows[name] = state }
  }

  /// The last port of the demo service: with the same port, its cached responses are found again. nil if there is no
  /// file, or the file has none.
  ///
  /// - Throws: the reason why the file cannot be read; a damaged file stays in its place.
  package var demoPort: Int? {
    get throws { try data().map { try JSONDecoder().decode(Document.self, from: $0) }?.demoPort }
  }

  /// Remembers the port of the demo service.
  ///
  /// - Returns: a warning for people if that was not possible.
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

  /// Returns the file's content; nil if it must not be replaced.
  private func read() -> (Document?, warning: Explanation?) {
    let data: Data?
    do { data = try self.data() } catch {
      let sentence =
        "The file with favourites and title cannot be read, and nothing is saved: choose another with --state."
      return (nil, Explanation(sentence, details: "\(file.path): \(error)"))
    }
    guard let data else { return (Document(), nil) }
    if let document = try? JSONDecoder().decode(Document.self, from: data) { return (document, nil) }
    let aside = placeForDamaged()
    do { try FileManager.default.moveItem(at: file, to: aside) } catch {
      let sentence = "The file with favourites and title is damaged, and cannot be set aside."
      return (nil, Explanation(sentence, details: file.path))
    }
    let sentence = "The file with favourites and title was damaged: it was set aside, and a new one is begun."
    return (Document(), Explanation(sentence, details: "\(file.path) is now \(aside.lastPathComponent)"))
  }

  private struct NotRegular: Error, CustomStringConvertible { let description = "it is not a regular file" }

  /// Returns the file's bytes; nil if there is no file. A device or a pipe is neither read nor replaced.
  private func data() throws -> Data? {
    let path = file.resolvingSymlinksInPath().path
    let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    guard type == nil || type == .typeRegular else { throw NotRegular() }
    do { return try Data(contentsOf: file) } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
      return nil
    }
  }

  /// The first free place for a damaged file.
  private func placeForDamaged() -> URL {
    var place = file.appendingPathExtension("corrupt")
    var number = 1
    while FileManager.default.fileExists(atPath: place.path) {
      number += 1
      place = file.appendingPathExtension("corrupt-\(number)")
    }
    return place
  }
}
