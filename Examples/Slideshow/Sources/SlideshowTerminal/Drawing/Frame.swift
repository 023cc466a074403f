import MartletImages
package import SlideshowModel

/// Draws a state: exactly as many lines as the screen has, none longer than it is wide.
package struct Frame {
  /// The lines around a picture that does not fill the screen: tabs, title of the slide, status, statistics, keys.
  static let linesAroundPicture = 5
  private let state: SlideshowState
  private let columns: Int
  private let rows: Int

  package static func lines(of state: SlideshowState, on screen: ScreenSize) -> [String] { Frame(state, screen).lines }

  private init(_ state: SlideshowState, _ screen: ScreenSize) {
    self.state = state
    columns = screen.columns
    rows = screen.rows
  }

  private var lines: [String] {
    if state.isFullScreen { return centered(content(rows), in: rows) }
    let room = rows - Frame.linesAroundPicture
    guard room > 0 else { return Array(([header, status] + content(rows)).prefix(rows)).padded(to: rows) }
    let body = state.tab == .manage && !state.slides.isEmpty ? list(room) : centered(content(room), in: room)
    return [header] + body + [footnote, status, statistics, keys]
  }

  // MARK: Parts

  private var header: String {
    let title = state.draft.map { "title: \($0)▏" } ?? state.title
    let tabs = state.tab == .manage ? " [1 Manage]  2 Present  " : "  1 Manage  [2 Present] "
    return Style.bold(DisplayText.cut(tabs + " " + title, to: columns))
  }

  private var footnote: String {
    guard state.tab == .present, let slide = state.currentSlide else { return "" }
    let cut = DisplayText.cut("\(heart(slide)) \(slide.caption)", to: columns)
    return indent(cut) + cut
  }

  private var status: String { Style.dim(DisplayText.cut(" " + (state.remark ?? state.status), to: columns)) }

  private var statistics: String { Style.dim(DisplayText.cut(" \(state.statistics)", to: columns)) }

  private var keys: String {
    let text =
      state.draft == nil
      ? " →/n next  ←/p previous  h favourite  f full screen  r reload  t title  tab list  q quit"
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
    if let hint = state.hint {
      let symbol = state.loading == .loading ? "⏳" : "▨"
      return message([symbol] + hint.flatMap { wrapped($0) }, room)
    }
    switch state.picture {
    case .shown(let shown):
      let drawn = HalfBlocks.lines(of: shown.bitmap, columns: columns, rows: room)
      let margin = String(repeating: " ", count: max(0, (columns - shown.bitmap.size.width) / 2))
      return drawn.map { margin + $0 }
    case .loading(let completed, let total): return message(["⏳", SlideshowState.progress(completed, total)], room)
    case .missing(let reason): return message(["▨", "no picture"] + wrapped(reason), room)
    case .none: return message(["▨"], room)
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
}

extension [String] {
  /// Cut or filled up to so many lines.
  fileprivate func padded(to count: Int) -> [String] {
    prefix(count) + Array(repeating: "", count: Swift.max(0, count - self.count))
  }
}
