import MartletTasks

/// Whether the process runs tests.
enum TestRun {
  static let isActive = isTestRun(ProcessInfo.processInfo.arguments, ProcessInfo.processInfo.environment)

  /// Xcode says it in the environment. SwiftPM's test programs, on Linux and elsewhere, are named after the package with
  /// `.xctest`, or are given the bundle or the library to run.
  static func isTestRun(_ arguments: [String], _ environment: [String: String]) -> Bool {
    let flags = ["--testing-library", "--test-bundle-path"]
    return ["XCTestConfigurationFilePath", "XCTestBundlePath", "XCTestSessionIdentifier"]
      .contains { environment[$0] != nil }
      || arguments.first?.hasSuffix(".xctest") == true
      || arguments.contains { argument in flags.contains { argument == $0 || argument.hasPrefix($0 + "=") } }
  }
}
