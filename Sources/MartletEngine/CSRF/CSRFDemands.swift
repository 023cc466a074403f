import MartletSemantics
import Synchronization

/// Where a server required a token although none was expected there.
final class CSRFDemands: Sendable {
  /// A path, with a slash at its end, and all that lies below it.
  private struct Place {
    let origin: Origin
    let path: String

    init?(_ url: URL) {
      guard let origin = Origin(url) else { return nil }
      self.origin = origin
      path = CSRFRule.path(of: url.standardized, endsInSlash: true)
    }

    func covers(_ other: Place) -> Bool { origin == other.origin && other.path.hasPrefix(path) }
  }

  /// The newest last; the oldest goes where there are too many.
  private let places = Mutex<[Place]>([])
  private static let limit = 100

  /// The server required a token for this URL: it will for its path, whatever the query, and below it.
  func learn(_ url: URL) {
    guard let place = Place(url) else { return }
    places.withLock { places in
      places.removeAll { place.covers($0) }
      if places.count >= Self.limit { places.removeFirst() }
      places.append(place)
    }
  }

  func cover(_ url: URL) -> Bool {
    places.withLock { places in
      guard !places.isEmpty, let place = Place(url) else { return false }
      return places.contains { $0.covers(place) }
    }
  }

  /// The server did not take the token that is for this URL: neither its path nor those above it count any more.
  func forget(_ url: URL) {
    places.withLock { places in
      guard !places.isEmpty, let place = Place(url) else { return }
      places.removeAll { $0.covers(place) }
    }
  }
}
