import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The program's environment besides its arguments; tests set their own.
struct ToolEnvironment: Sendable {
  var output: any Output
  var errors: any Output
  /// The descriptor of standard input.
  var input: Int32
  var variables: [String: String]
  /// The folder for relative paths.
  var folder: URL
  /// Measures the displayed times.
  var clock: any Clock<Duration> = ContinuousClock()
  var now: @Sendable () -> Date = { .now }
  /// Asks for a password on the terminal; nil if there is none.
  var askPassword: @Sendable (_ prompt: String) -> String? = { PasswordPrompt.password($0) }
  /// Draws images; nil in a program without them.
  var drawing: ImageDrawing?

  /// Returns the environment of this process.
  static func ofProcess() -> ToolEnvironment {
    ToolEnvironment(
      output: DescriptorOutput(STDOUT_FILENO), errors: DescriptorOutput(STDERR_FILENO), input: STDIN_FILENO,
      variables: ProcessEnvironment.all,
      folder: URL(filePath: ProcessEnvironment.workingFolder, directoryHint: .isDirectory))
  }

  var inputFiles: InputFiles { InputFiles(folder: folder, input: input) }

  /// The folder of what the user keeps for this program: `martlet` in `$XDG_CONFIG_HOME`, otherwise in
  /// `$HOME/.config`; nil if neither is an absolute path.
  var configuration: URL? {
    if let path = variables["XDG_CONFIG_HOME"], path.hasPrefix("/") {
      return URL(filePath: path).appending(component: "martlet")
    }
    guard let home = variables["HOME"], home.hasPrefix("/") else { return nil }
    return URL(filePath: home).appending(components: ".config", "martlet")
  }

  /// The file for the secrets of TLS connections; nil if the user wants none.
  var keyLog: URL? { variables["SSLKEYLOGFILE"].flatMap { $0.isEmpty ? nil : file($0) } }

  /// The file for a path on the command line.
  func file(_ path: String) -> URL { URL(filePath: path, relativeTo: folder).absoluteURL }

  /// The readable file for the value of an option.
  func existingFile(_ path: String, of option: OptionName) throws(UsageError) -> URL {
    do throws(UsageError) { try inputFiles.check(path) } catch { throw UsageError("--\(option.rawValue): \(error)") }
    return file(path)
  }

  /// Writes a line to standard error. A failure cannot be reported anywhere.
  func report(_ line: String) {
    do throws(OutputError) { try errors.write(line.printable + "\n") } catch {}
  }
}

/// Values that the process gets from the system.
enum ProcessEnvironment {
  static var all: [String: String] {
    var result: [String: String] = [:]
    var pointer = environ
    while let entry = pointer.pointee {
      let text = String(cString: entry)
      if let equal = text.firstIndex(of: "=") {
        result[String(text[..<equal])] = String(text[text.index(after: equal)...])
      }
      pointer += 1
    }
    return result
  }

  static var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "." }
    defer { free(path) }
    return String(cString: path)
  }
}
