import MartletImages
package import SlideshowModel

/// A state in the form for a screen: exactly as many lines as the screen has, none longer than it is wide, and the
/// positions of items for the mouse.
package struct Frame: Sendable {
  /// The lines around a picture that does not fill the screen: tabs, title of the slide, two of status, keys.
  static let linesAroundPicture = 5
  let state: SlideshowState
  let screen: ScreenSize
  var columns: Int { screen.columns }
  var rows: Int { screen.rows }

  package init(of state: SlideshowState, on screen: ScreenSize) {
    self.state = state
    self.screen = screen
  }

  package var lines: [String] {
    if state.isFullScreen { return centered(content(rows), in: rows) }
    guard room > 0 else { return Array(([header] + status + content(rows)).prefix(rows)).padded(to: rows) }
    return [header] + body + [footnote] + status + [keys]
  }

  /// The lines between tabs and footnote.
  var room: Int { rows - Frame.linesAroundPicture }

  private var body: [String] {
    isList ? SlideRows(self).lines.padded(to: room) : centered(content(room), in: room)
  }

  /// Whether the body is the list of the slides.
  var isList: Bool { state.tab == .manage && state.panel == nil && !state.slides.isEmpty }

  // MARK: - Above and below

  /// The columns of the tabs, from the left edge.
  static let tabColumns = (manage: 0..<12, present: 12..<24)

  private var header: String {
    let title = state.draft.map { "title: \($0.before)▏\($0.after)" } ?? state.title
    let tabs = state.tab == .manage ? " [1 Manage]  2 Present  " : "  1 Manage  [2 Present] "
    return Style.bold(DisplayText.cut(tabs + " " + title, to: columns))
  }

  /// Heart and title of the slide, between the words that tell the effect of a click.
  private var footnote: String {
    guard let caption else { return "" }
    let (back, next) = hints
    let left = String(repeating: " ", count: max(0, captionColumns.lowerBound - DisplayText.width(back)))
    let gap = columns - captionColumns.upperBound - DisplayText.width(next)
    let right = String(repeating: " ", count: max(0, gap))
    return Style.dim(back) + left + caption + right + Style.dim(next)
  }

  private var hints: (back: String, next: String) {
    guard state.slides.count > 1 else { return ("", "") }
    return columns >= 48 ? (" ‹ back", "next › ") : columns >= 16 ? ("‹", "›") : ("", "")
  }

  private var caption: String? {
    guard state.tab == .present, let slide = state.currentSlide else { return nil }
    let hintWidth = DisplayText.width(hints.back)
    return DisplayText.cut("\(heart(slide)) \(slide.caption)", to: columns - (hintWidth > 0 ? 2 * hintWidth + 2 : 0))
  }

  /// The columns of heart and title in their line; empty if there are none.
  var captionColumns: Range<Int> {
    let width = caption.map(DisplayText.width) ?? 0
    let start = max(0, (columns - width) / 2)
    return start..<start + width
  }

  /// Two lines: the current message for the user if any, the position in the slideshow, and the number of pictures that
  /// were shown.
  private var status: [String] {
    let facts = [state.statusParts, state.slides.isEmpty ? [] : state.counts.parts].map {
      Style.dim(" " + DisplayText.joined($0, separator: " · ", columns: columns - 1))
    }
    return Array((remark + facts).prefix(2))
  }

  private var remark: [String] {
    guard let remark = state.remark else { return [] }
    // The last space must not end a line.
    let text = remark.sentence + (remark.details.isEmpty ? "" : " d:\u{A0}details")
    var lines = DisplayText.wrapped(text, columns: max(1, columns - 2))
    if lines.count > 2 { lines = [lines[0], DisplayText.cut(lines[1] + " …", to: columns - 2)] }
    return lines.map { DisplayText.cut(" " + $0, to: columns) }
  }

  private var keys: String {
    let labels =
      state.draft == nil
      ? KeyBinding.labels(in: state)
      : ["enter: keep the title", "esc: leave it as it was", "empty: the service's title"]
    return Style.dim(
      " " + DisplayText.joined(labels, separator: "  ", columns: columns - 1, keeping: KeyBinding.helpLabel))
  }

  func heart(_ slide: Slide) -> String { state.isFavorite(slide) ? "♥" : "♡" }

  // MARK: - The picture or its replacement

  private func content(_ room: Int) -> [String] {
    switch state.panel {
    case .help: return help(room)
    case .details: return panel(state.details.flatMap { DisplayText.wrapped($0, columns: max(1, columns - 4)) }, room)
    case nil: break
    }
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
    case .missing(let explanation): return message(["▨"] + wrapped(explanation.sentence) + ["d: details"], room)
    case .none: return message(["▨"], room)
    }
  }

  private func wrapped(_ text: String) -> [String] { DisplayText.wrapped(text, columns: max(1, min(columns - 4, 90))) }

  private func help(_ room: Int) -> [String] {
    var lines = KeyBinding.help(for: .terminal)
    if lines.count > room { lines = lines.prefix(max(0, room - 1)) + ["… slideshow --help shows all"] }
    if lines.count + 2 <= room { lines = ["Keys, what they do, and the same with the mouse", ""] + lines }
    return panel(lines, room)
  }

  /// Lines below each other, centred as a block.
  private func panel(_ lines: [String], _ room: Int) -> [String] {
    let width = lines.map(DisplayText.width).max() ?? 0
    let margin = String(repeating: " ", count: max(0, (columns - width) / 2))
    return lines.prefix(room).map { DisplayText.cut(margin + $0, to: columns) }
  }

  private func message(_ lines: [String], _ room: Int) -> [String] {
    lines.prefix(room).map { line in
      let cut = DisplayText.cut(line, to: columns)
      return String(repeating: " ", count: max(0, (columns - DisplayText.width(cut)) / 2)) + cut
    }
  }

  private func centered(_ lines: [String], in room: Int) -> [String] {
    let above = Array(repeating: "", count: max(0, (room - lines.count) / 2))
    return (above + lines.prefix(room)).padded(to: room)
  }
}

extension [String] {
  /// The lines, cut or padded to this number.
  fileprivate func padded(to count: Int) -> [String] {
    prefix(count) + Array(repeating: "", count: Swift.max(0, count - self.count))
  }
}
