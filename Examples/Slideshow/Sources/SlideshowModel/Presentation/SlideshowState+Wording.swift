// The texts that all front ends share.
extension SlideshowState {
  /// The message in place of the slides: the problem and the remedy. Nil if there are slides.
  package var hint: [String]? {
    guard slides.isEmpty else { return nil }
    return switch loading {
    case .loading: ["Loading the slides", service]
    case .loaded:
      ["There are no slides.", "Check if the web service is running and has any: \(service)", "r: load again"]
    case .failed(let explanation): [explanation.sentence, service, "r: try again · d: details"]
    }
  }

  /// `Breakfast – Holiday Slideshow`: the displayed content, for the title of a window.
  package var windowTitle: String {
    guard tab == .present, let currentSlide else { return title }
    return "\(currentSlide.title) – \(title)"
  }

  /// The current message for the user, if any: a notice, or the problem of the service.
  package var remark: Explanation? {
    if let notice { return notice }
    guard var trouble else { return nil }
    if autoplay == .waitingForService { trouble.sentence += " Auto-play waits for it; a: play on." }
    return trouble
  }

  /// Facts about the current slide, the most important first: `3 of 7`, `playing, 5 s each`, `640×427`, …
  package var statusParts: [String] {
    if loading == .loading { return ["Loading the slides"] }
    guard !slides.isEmpty else { return ["No slides"] }
    return ["\(index + 1) of \(slides.count)"] + autoplayParts + pictureParts
  }

  private var autoplayParts: [String] {
    switch autoplay {
    case .off: []
    case .playing: ["▶ playing, \(autoplayInterval.components.seconds) s each"]
    case .waitingForService: ["auto-play waits for the service"]
    }
  }

  private var pictureParts: [String] {
    switch picture {
    case .shown(let shown): currentSlide.flatMap { facts(of: $0) }?.parts ?? shown.facts.parts
    case .loading(0, _): ["loading"]
    case .loading(let completed, let total): ["loading, \(Self.progress(completed, total))"]
    case .missing: ["no picture"]
    case .none: []
    }
  }

  private func facts(of slide: Slide) -> PictureFacts? {
    if case .shown(let facts) = outcomes[slide.id] { facts } else { nil }
  }

  /// `25 % of 112.5 kB`
  package static func progress(_ completed: Int64, _ total: Int64?) -> String {
    guard let total, total > 0 else { return completed == 0 ? "…" : ByteSize.text(completed) }
    return "\(completed * 100 / total) % of \(ByteSize.text(total))"
  }

  /// The result of loading a slide's picture, for the list.
  package func outcome(of slide: Slide) -> String {
    if let outcome = outcomes[slide.id] { return outcome.description }
    // The thumbnail is made from the same file.
    if let thumbnail = thumbnails[slide.id], thumbnail.bitmap == nil { return "no picture" }
    return "not shown yet"
  }

  /// Details for finding the cause of a problem, one per line.
  package var details: [String] {
    var lines: [String] = []
    func add(_ name: String, _ text: String) { if !text.isEmpty { lines.append("\(name): \(text)") } }
    if let notice { add("message", notice.description) }
    if let trouble { add("trouble", trouble.details) }
    if case .failed(let explanation) = loading { add("error", explanation.details) }
    if let slide = currentSlide {
      add("slide", "\(slide.id), \(slide.title)")
      add("file", slide.imageFileName ?? "none")
      add("picture", pictureDetails)
    }
    add("service", service)
    let seconds = pollInterval?.components.seconds
    add("changes", seconds.map { "the service is asked every \($0) s" } ?? "the service is not asked again")
    if !slides.isEmpty { add("pictures", counts.description) }
    return lines
  }

  private var pictureDetails: String {
    switch picture {
    case .shown(let shown):
      "\(shown.facts.size) pixels, \(shown.facts.bytes) bytes, \(shown.source), \(shown.milliseconds) ms"
    case .missing(let explanation): explanation.details
    case .loading(let completed, let total): "loading, \(completed) of \(total.map(String.init) ?? "?") bytes"
    case .none: "none"
    }
  }
}

extension Slide {
  /// The title, and the description if there is one.
  package var caption: String { description.isEmpty ? title : "\(title) · \(description)" }
}
