import Foundation
import Martlet

/// Gets a URL, and prints the length of the body.
@main
enum StartMartlet {
  static func main() async throws {
    guard let url = URL(string: CommandLine.arguments[1]) else { return }
    print(try await HTTPSession().data(for: HTTPRequest(.get, url)).0.count)
  }
}
