import Martlet
import SlideshowModel
import Testing

@Suite("Where the slideshow comes from", .timeLimit(.minutes(5)))
struct ConfigurationTests {
  private func configuration(
    service: String?, images: String? = "http://localhost:8000/", allowsInsecure: Bool = false
  ) throws(SlideshowError) -> SlideshowConfiguration {
    try SlideshowConfiguration(allowsInsecure: allowsInsecure) { $0 == .service ? service : images }
  }

  @Test(arguments: [
    "http://localhost:8000/s.json", "http://127.0.0.1/s.json", "http://[::1]:8000/s.json", "HTTP://LOCALHOST/s.json",
    "https://example.org/s.json",
  ])
  func aUsableURLIsTaken(text: String) throws {
    #expect(try configuration(service: text).service.absoluteString == text)
  }

  @Test(arguments: [nil, "", "  "])
  func aMissingURLIsNamedWithItsRemedy(text: String?) {
    let error = #expect(throws: SlideshowError.self) { try configuration(service: "http://localhost/", images: text) }

    #expect(error == .noUrlDefinedInInfoPropertyList(.imageBase))
    #expect("\(error as Any)".contains("ImageBaseUrl"))
    #expect("\(error as Any)".contains("--images"))
  }

  @Test(arguments: ["not a url", "ftp://localhost/", "localhost:8000", "http://", "/s.json", "file:///s.json"])
  func anUnusableURLIsRefused(text: String) {
    let error = #expect(throws: SlideshowError.self) { try configuration(service: text) }

    guard case .invalidURL(.service, text, _) = error else {
      Issue.record("expected invalidURL for \(text), got \(error as Any)")
      return
    }
  }

  @Test(arguments: [
    "http://example.org/s.json", "http://localhost.example.org/s.json", "http://localhost@example.org/s.json",
    "http://192.168.0.1/s.json",
  ])
  func plainHTTPStaysOnThisComputerUnlessAllowed(text: String) throws {
    let error = #expect(throws: SlideshowError.self) { try configuration(service: text) }

    #expect("\(error as Any)".contains("--allow-insecure"))
    #expect(try configuration(service: text, allowsInsecure: true).service.absoluteString == text)
  }
}
