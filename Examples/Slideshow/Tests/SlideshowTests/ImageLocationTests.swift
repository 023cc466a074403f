import Martlet
import SlideshowModel
import Testing

@Suite("Where a picture is", .timeLimit(.minutes(5)))
struct ImageLocationTests {
  private func urls(_ base: String, _ file: String?) throws -> [String] {
    try ImageLocation(base: Fixture.url(base)).urls(for: file).map(\.absoluteString)
  }

  @Test(arguments: [
    ("http://localhost:8000", "sunset-10.jpeg"), ("http://localhost:8000/", "sunset-10.jpeg"),
    ("http://localhost:8000", "sunset-10"), ("http://localhost:8000/", "sunset-10"),
  ])
  func slashAndExtensionAreNeitherMissingNorDoubled(base: String, file: String) throws {
    #expect(try urls(base, file).first == "http://localhost:8000/sunset-10.jpeg")
  }

  @Test func aNameWithoutExtensionMayAlsoBeAFileWithoutOne() throws {
    #expect(try urls("http://localhost/p", "v1.2 party").last == "http://localhost/p/v1.2%20party")
    #expect(try urls("http://localhost/p", "a.PNG") == ["http://localhost/p/a.PNG"])
  }

  @Test(arguments: [
    ("my photo.jpg", "my%20photo.jpg"), ("Müllers.jpg", "M%C3%BCllers.jpg"), ("what?.jpg", "what%3F.jpg"),
    ("#1.jpg", "%231.jpg"), ("100%.jpg", "100%25.jpg"), ("%2e%2e.jpg", "%252e%252e.jpg"),
    ("album/one.jpg", "album/one.jpg"), ("a:b.jpg", "a%3Ab.jpg"), ("..\\x.jpg", "..%5Cx.jpg"),
    ("…🌅.jpg", "%E2%80%A6%F0%9F%8C%85.jpg"),
  ])
  func unusualNamesAreEncoded(file: String, path: String) throws {
    #expect(try urls("http://localhost/photos/", file) == ["http://localhost/photos/" + path])
  }

  @Test(arguments: [
    "../secret.jpg", "a/../../secret.jpg", "..", "./a.jpg", "/etc/passwd.jpg", "//evil.example/a.jpg",
    "http://evil.example/a.jpg", "https://evil.example/a.jpg", "a//b.jpg", "a\nb.jpg", "a\u{0}.jpg",
  ])
  func namesThatLeadElsewhereAreRefusedWithAReason(file: String) throws {
    let error = #expect(throws: PictureError.self) { try urls("http://localhost/photos/", file) }

    guard case .refusedFileName(file, let reason) = error else {
      Issue.record("expected a refusal of \(file), got \(error as Any)")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test(arguments: [nil, ""])
  func noNameMeansNoPicture(file: String?) throws {
    let error = #expect(throws: PictureError.self) { try urls("http://localhost/", file) }

    if case .noFileName = error { return }
    Issue.record("expected noFileName, got \(error as Any)")
  }

  @Test func theQueryOfTheBaseIsKept() throws {
    #expect(try urls("https://example.org/p?client=100#top", "a.png") == ["https://example.org/p/a.png?client=100"])
  }
}
