// What every front end says in the same words.
extension SlideshowState {
  /// What to tell where there are no slides: what is the matter, and what can be done. Nil where there are some.
  package var hint: [String]? {
    guard slides.isEmpty else { return nil }
    return switch loading {
    case .loading: ["loading the slides", service]
    case .loaded: ["no slides", "check if the web service is running and has any: \(service)", "r loads again"]
    case .failed(let reason): ["no slides", reason, "r tries again"]
    }
  }

  /// `Breakfast – Holiday Slideshow`: what is to be seen, for the title of a window.
  package var windowTitle: String {
    guard tab == .present, let currentSlide else { return title }
    return "\(currentSlide.title) – \(title)"
  }

  /// What the user should know now, if anything.
  package var remark: String? { notice ?? trouble }

  /// `3/7  640×427, 112525 bytes, network, 12 ms`
  package var status: String {
    if loading == .loading { return "loading the slides" }
    let place = slides.isEmpty ? "" : "\(index + 1)/\(slides.count)  "
    return switch picture {
    case .shown(let shown): place + shown.summary
    case .loading(let completed, let total): place + "loading \(Self.progress(completed, total))"
    case .missing: place + "no picture"
    case .none: place + "no slides"
    }
  }

  /// `50 of 200 bytes, 25 %`
  package static func progress(_ completed: Int64, _ total: Int64?) -> String {
    guard let total, total > 0 else { return completed == 0 ? "…" : "\(completed) bytes" }
    return "\(completed) of \(total) bytes, \(completed * 100 / total) %"
  }
}

extension Slide {
  /// Title, and description if there is one.
  package var caption: String { description.isEmpty ? title : "\(title) · \(description)" }
}
