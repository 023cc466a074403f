/// The content from the web service: a title and the slides in their order.
package struct Slideshow: Sendable, Hashable {
  package var title: String
  package var slides: [Slide]

  /// Makes a slideshow. Ids are made unique: a second slide with the id 10 gets the id `10 (2)`.
  package init(title: String = "Slideshow", slides: [Slide] = []) {
    self.title = title
    var counts: [SlideID: Int] = [:]
    self.slides = slides.map { slide in
      var slide = slide
      counts[slide.id, default: 0] += 1
      if let count = counts[slide.id], count > 1 { slide.id = SlideID("\(slide.id) (\(count))") }
      return slide
    }
  }
}

extension Slideshow: Codable {
  private enum CodingKeys: String, CodingKey {
    case title, slides
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let slides = try container.decode([Slide].self, forKey: .slides)
    guard let title = try container.decodeIfPresent(String.self, forKey: .title) else {
      self.init(slides: slides)
      return
    }
    self.init(title: title, slides: slides)
  }
}
