import Martlet
import SlideshowModel
import Testing

@Suite("What the service serves", .timeLimit(.minutes(5)))
struct DecodingTests {
  private func decode(_ json: String) throws -> Slideshow {
    try JSONDecoder().decode(Slideshow.self, from: Data(json.utf8))
  }

  @Test func slidesWithoutTitlesAreNamedAfterTheirFiles() throws {
    let slideshow = try decode(Fixture.tutorial)

    #expect(slideshow.slides.map(\.title) == ["Sunset 10", "Sunset 13"])
    #expect(slideshow.slides.map(\.imageFileName) == ["sunset-10.jpeg", "sunset-13.jpeg"])
  }

  @Test func missingMarksAndDescriptionsAreNoMistake() throws {
    let slide = try #require(try decode(#"{"title": "T", "slides": [{"id": 1, "title": "One"}]}"#).slides.first)

    #expect(!slide.isFavorite)
    #expect(slide.description.isEmpty)
    #expect(slide.imageFileName == nil)
  }

  @Test func everythingThatTheServerSaysIsKept() throws {
    let json = #"{"slides": [{"id": "a", "file": "f.png", "title": "T", "description": "D", "isFavorite": true}]}"#

    #expect(
      try decode(json).slides == [
        Slide(id: SlideID("a"), title: "T", imageFileName: "f.png", description: "D", isFavorite: true)
      ])
  }

  @Test func idsAreTheServersAndSurviveEncoding() throws {
    let slideshow = try decode(Fixture.tutorial)
    let again = try JSONDecoder().decode(Slideshow.self, from: JSONEncoder().encode(slideshow))

    #expect(slideshow.slides.map(\.id) == [SlideID("10"), SlideID("13")])
    #expect(again == slideshow)
  }

  @Test func theTitleOfTheServerIsKept() throws {
    #expect(try decode(Fixture.tutorial).title == "Holiday Slideshow")
    #expect(try decode(#"{"slides": []}"#).title == "Slideshow")
  }

  @Test func slidesWithTheSameIdAreToldApart() throws {
    let slideshow = try decode(#"{"slides": [{"id": 1, "file": "a.png"}, {"id": 1, "file": "b.png"}]}"#)

    #expect(slideshow.slides.map(\.id) == [SlideID("1"), SlideID("1 (2)")])
  }

  @Test func aSlideWithoutIdIsKnownByItsFile() throws {
    #expect(try decode(#"{"slides": [{"file": "a.png"}]}"#).slides.first?.id == SlideID("a.png"))
  }
}
