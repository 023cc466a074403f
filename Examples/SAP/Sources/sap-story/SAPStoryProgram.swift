import Foundation
import SAPStory

/// Prints the story.
@main
enum SAPStoryProgram {
  static func main() async throws {
    let photos = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Slideshow/Photos")
    try await SAPStory(photo: photos.appending(path: "coffee.jpg")) { print($0) }.tell()
  }
}
