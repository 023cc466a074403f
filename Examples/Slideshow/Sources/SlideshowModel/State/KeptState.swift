/// The state of a slideshow that is kept between two runs: only the user's changes.
package struct KeptState: Sendable, Hashable, Codable {
  /// The user's title; nil for the server's.
  package var title: String?
  /// The slides, by id, with the user's marks: true for a favourite, false for a removed mark.
  package var favorites: [String: Bool] = [:]

  package init() {}

  /// Whether a slide is a favourite: the user's mark counts, otherwise the server's.
  package func isFavorite(_ slide: Slide) -> Bool { favorites[slide.id.description] ?? slide.isFavorite }

  /// Changes the mark.
  package mutating func toggleFavorite(_ slide: Slide) {
    let isFavorite = !isFavorite(slide)
    favorites[slide.id.description] = isFavorite == slide.isFavorite ? nil : isFavorite
  }
}
