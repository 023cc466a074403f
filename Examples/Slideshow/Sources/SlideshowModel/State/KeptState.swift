/// What is remembered of a slideshow between two runs: only what the user changed.
package struct KeptState: Sendable, Hashable, Codable {
  /// The title that the user gave; nil for the server's.
  package var title: String?
  /// The slides, by id, that the user marked as favourites (true) or took the mark from (false).
  package var favorites: [String: Bool] = [:]

  package init() {}

  /// Whether a slide is a favourite: as the user says, or else as the server does.
  package func isFavorite(_ slide: Slide) -> Bool { favorites[slide.id.description] ?? slide.isFavorite }

  /// Changes the mark.
  package mutating func toggleFavorite(_ slide: Slide) {
    let isFavorite = !isFavorite(slide)
    favorites[slide.id.description] = isFavorite == slide.isFavorite ? nil : isFavorite
  }
}
