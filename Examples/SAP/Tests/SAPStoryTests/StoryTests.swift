import Foundation
import SAPStory
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StoryTests {
  private final class Book: Sendable {
    let lines = Mutex<[String]>([])
  }

  @Test func theStoryGoesAsTheReadmeTells() async throws {
    let photos = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Slideshow/Photos")
    let book = Book()

    try await SAPStory(photo: photos.appending(path: "coffee.jpg")) { line in
      book.lines.withLock { $0.append(line) }
    }.tell()

    #expect(
      book.lines.withLock { $0 } == [
        "The service 'SAP Mobile Services' asks who that is; anna signs in.",
        "Signed in: 200.",
        "Ordered: 201, with a CSRF token that took 1 fetch.",
        "Servers log it as the identifier of the task.",
        "Ordered too much: Only three cups are left. (400 Bad Request, M_/011)",
        "From the network: a picture of 600×400.",
        "The service is gone.",
        "From the cache: a picture of 600×400.",
        "anna has signed out.",
        "After that: no picture, as it should be.",
      ])
  }
}
