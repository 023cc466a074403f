import MartletImages
import SlideshowModel

/// Draws a state: exactly as many lines as the screen has, none longer than it is wide.
package struct Frame {
  /// The lines around a picture that does not fill the screen: tabs, title of the slide, status, keys.
  static let linesAroundPicture = 4
  private let state: SlideshowState
  private let columns: Int
  private let rows: Int

  package static func lines(of state: SlideshowState) -> [String] { Frame(state).lines }

  private init(_ state: SlideshowState) {
    self.state = state
    columns = state.screen.columns
    rows = state.screen.rows
  }

  private var lines: [String] {
    if state.isFullScreen { return centered(content(rows), in: rows) }
    let room = rows - Frame.linesAroundPicture
    guard room > 0 else { return Array(([header, status] + content(rows)).prefix(rows)).padded(to: rows) }
    let body = state.tab == .manage && !state.slides.isEmpty ? list(room) : centered(content(room), in: room)
    return [header] + body + [footnote, status, keys]
  }

  // MARK: Parts

  private var header: String {
    let title = state.draft.map { "title: \($0)▏" } ?? state.title
    let tabs = state.tab == .manage ? " [1 Manage]  2 Present  " : "  1 Manage  [2 Present] "
    return Style.bold(DisplayText.cut(tabs + " " + title, to: columns))
  }

  private var footnote: String {
    guard state.tab == .present, let slide = state.currentSlide else { return "" }
    let text = slide.description.isEmpty ? slide.title : "\(slide.title) · \(slide.description)"
    let cut = DisplayText.cut("\(heart(slide)) \(text)", to: columns)
    return indent(cut) + cut
  }

  private var status: String {
    Style.dim(DisplayText.cut(" " + statusText, to: columns))
  }

  private var statusText: String {
    if let notice = state.notice { return notice }
    if state.loading == .loading { return "loading the slides" }
    let place = state.slides.isEmpty ? "" : "\(state.index + 1)/\(state.slides.count)  "
    switch state.picture {
    case .shown(let shown): return place + shown.summary
    case .loading(let completed, let total): return place + "loading \(Self.progress(completed, total))"
    case .missing: return place + "no picture"
    case .none: return place + "no slides"
    }
  }

  private var keys: String {
    let text =
      state.draft == nil
      ? " →/n next  ←/p previous  f favourite  ↵/z full screen  r reload  t title  tab list  q quit"
      : " ↵ keep the title  esc leave it as it was  (an empty one: the service's)"
    return Style.dim(DisplayText.cut(text, to: columns))
  }

  private func heart(_ slide: Slide) -> String { state.isFavorite(slide) ? "♥" : "♡" }

  // MARK: The list

  private func list(_ room: Int) -> [String] {
    let first = max(0, min(state.index - room / 2, state.slides.count - room))
    let visible = state.slides.indices.dropFirst(first).prefix(room)
    return visible.map { row(state.slides[$0], isCurrent: $0 == state.index) }.padded(to: room)
  }

  private func row(_ slide: Slide, isCurrent: Bool) -> String {
    let titleWidth = max(8, min(36, columns / 2 - 6))
    let title = DisplayText.cut(slide.title, to: titleWidth)
    let gap = String(repeating: " ", count: titleWidth - DisplayText.width(title) + 2)
    let outcome = state.outcomes[slide.id] ?? "not loaded yet"
    let text = DisplayText.cut("\(isCurrent ? "›" : " ") \(heart(slide)) \(title)\(gap)\(outcome)", to: columns)
    return isCurrent ? Style.inverse(text) : text
  }

  // MARK: The picture, or what stands in its place

  private func content(_ room: Int) -> [String] {
    guard !state.slides.isEmpty else { return hint(room) }
    switch state.picture {
    case .shown(let shown):
      let drawn = HalfBlocks.lines(of: shown.bitmap, columns: columns, rows: room)
      let margin = String(repeating: " ", count: max(0, (columns - shown.bitmap.size.width) / 2))
      return drawn.map { margin + $0 }
    case .loading(let completed, let total): return message(["⏳", Self.progress(completed, total)], room)
    case .missing(let reason): return message(["▨", "no picture"] + wrapped(reason), room)
    case .none: return message(["▨"], room)
    }
  }

  private func hint(_ room: Int) -> [String] {
    switch state.loading {
    case .loading: message(["⏳", "loading the slides"], room)
    case .loaded: message(["no slides", "check if the web service is running and has any; r loads again"], room)
    case .failed(let reason): message(["no slides", ""] + wrapped(reason) + ["", "r tries again"], room)
    }
  }

  private func wrapped(_ text: String) -> [String] { DisplayText.wrapped(text, columns: max(1, min(columns - 4, 90))) }

  private func message(_ lines: [String], _ room: Int) -> [String] {
    lines.prefix(room).map { line in
      let cut = DisplayText.cut(line, to: columns)
      return indent(cut) + cut
    }
  }

  private func indent(_ text: String) -> String {
    String(repeating: " ", count: max(0, (columns - DisplayText.width(text)) / 2))
  }

  private func centered(_ lines: [String], in room: Int) -> [String] {
    let above = Array(repeating: "", count: max(0, (room - lines.count) / 2))
    return (above + lines.prefix(room)).padded(to: room)
  }

  private static func progress(_ completed: Int64, _ total: Int64?) -> String {
    guard let total, total > 0 else { return completed == 0 ? "…" : "\(completed) bytes" }
    return "\(completed) of \(total) bytes, \(completed * 100 / total) %"
  }
}

extension [String] {
  /// Cut or filled up to so many lines.
  fileprivate func padded(to count: Int) -> [String] {
    prefix(count) + Array(repeating: "", count: Swift.max(0, count - self.count))
  }
}
