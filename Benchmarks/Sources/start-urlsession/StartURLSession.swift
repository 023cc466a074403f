import Foundation
import FoundationNetworking

/// Gets a URL, and prints the length of the body.
@main
enum StartURLSession {
  static func main() async throws {
    guard let url = URL(string: CommandLine.arguments[1]) else { return }
    print(try await URLSession.shared.data(from: url).0.count)
  }
}
