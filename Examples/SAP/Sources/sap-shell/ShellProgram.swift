import Foundation
import SAPFoundation
import SAPFoundationTesting
import SAPPrograms
import SAPStory

/// Runs the shell, or the tour.
@main
enum ShellProgram {
  static func main() async {
    do {
      let options = try ShellOptions(Array(CommandLine.arguments.dropFirst()))
      if options.wantsHelp { return print(ShellOptions.help, terminator: "") }
      // The log goes to files that `upload` sends, not to standard error, where an expected error would look like a
      // failure.
      try SAPcpmsLogUploader.attachToRootLogger()
      let isTour =
        options.mode == .automatic ? options.gateway == nil && isatty(STDIN_FILENO) == 0 : options.mode == .tour
      guard !isTour else { return try await SAPStory(photo: ExampleGateway.photo) { print($0) }.tell() }
      // Always at the same port, so that the users of the last run are known there.
      let own = options.gateway == nil ? try ExampleGateway.start(port: ExampleGateway.shellPort) : nil
      defer { own?.stop() }
      guard let url = options.gateway ?? own?.url else { return }
      let read: @Sendable (String) -> String? = { prompt in
        print(prompt, terminator: "")
        fflush(nil)
        let line = readLine()
        // A terminal shows what is typed.
        if isatty(STDIN_FILENO) == 0 { print(line ?? "") }
        return line
      }
      await Shell(gateway: url, read: read) { print($0) }.run()
    } catch {
      FileHandle.standardError.write(Data("sap-shell: \(error)\n".utf8))
      exit(2)
    }
  }
}
