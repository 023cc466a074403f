import MartletEngine
import MartletImages

/// The number of the slides' pictures that were shown, and their sources. Each picture counts once, however often and
/// in however many sizes it was shown or tried.
package struct PictureCounts: Sendable, Hashable, CustomStringConvertible {
  package var slides = 0
  /// Pictures that came over the network and were shown.
  package var network = 0
  /// Pictures that were shown from the session's cache: because they were fresh or validated, or because the service
  /// could not be reached.
  package var cache = 0
  /// Slides that have no picture to show.
  package var missing = 0
  /// The total size of the files of the shown pictures, in bytes.
  package var bytes: Int64 = 0

  package init() {}

  init(slides: Int, _ outcomes: some Sequence<PictureOutcome>) {
    self.slides = slides
    for outcome in outcomes {
      switch outcome {
      case .shown(let facts):
        if facts.origin == .session(.network) { network += 1 } else { cache += 1 }
        bytes += Int64(facts.bytes)
      case .missing: missing += 1
      }
    }
  }

  package var shown: Int { network + cache }

  /// The facts, the most important first.
  package var parts: [String] {
    var parts = ["\(shown) of \(slides) pictures shown"]
    if missing > 0 { parts.append("\(missing) missing") }
    if network > 0 { parts.append("\(network) from the network") }
    if cache > 0 { parts.append("\(cache) from the cache") }
    if bytes > 0 { parts.append(ByteSize.text(bytes)) }
    return parts
  }

  /// `6 of 7 pictures shown · 1 missing · 5 from the network · 1 from the cache · 937.7 kB`
  package var description: String { parts.joined(separator: " · ") }
}
