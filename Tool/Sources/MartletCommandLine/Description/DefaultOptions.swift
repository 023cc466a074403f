@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// The options that a user wants for every request: `default_options` in `$XDG_CONFIG_HOME/martlet/config.json`, as in
/// HTTPie.
enum DefaultOptions {
  private struct File: Decodable {
    var default_options: [String]?
  }

  /// The options in the file; none without a file.
  ///
  /// - Throws: `UsageError`, with the file's name, for a file that cannot be used.
  static func read(_ environment: ToolEnvironment) throws(UsageError) -> [String] {
    guard let file = environment.configuration?.appending(component: "config.json"),
      FileManager.default.fileExists(atPath: file.path)
    else { return [] }
    guard let content = try? JSONDecoder().decode(File.self, from: SpareDescriptors.contents(of: file)) else {
      throw UsageError(
        "'\(file.path)' has no list of options: write {\"default_options\": [\"--timeout=10\", \"--sorted\"]}")
    }
    let options = content.default_options ?? []
    do throws(UsageError) { try ArgumentParser.check(options) } catch {
      throw UsageError("default_options in '\(file.path)': \(error.description)")
    }
    return options
  }
}
