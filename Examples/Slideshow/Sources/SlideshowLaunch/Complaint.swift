#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A message of the program on standard error.
package struct Complaint: Sendable {
  private let program: String

  package init(of program: String) { self.program = program }

  package func tell(_ message: String) {
    let bytes = Array("\(program): \(message)\n".utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Prints the message and ends the program: code 2 for a mistake on the command line, 1 for anything else.
  package func end(_ error: any Error) -> Never {
    tell("\(error)")
    exit(error is CommandLineOptions.Mistake ? 2 : 1)
  }
}
