import Foundation

/// The Python that `make interop` has installed, with the packages of `requirements.txt`.
enum Python {
  static func path() throws -> String {
    guard let path = ProcessInfo.processInfo.environment["MARTLET_INTEROP_PYTHON"] else {
      throw RealServerError("there is no Python with the packages that the tests need: run them with `make interop`")
    }
    return path
  }
}
