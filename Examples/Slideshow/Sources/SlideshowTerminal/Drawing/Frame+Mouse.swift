package import SlideshowModel

// The meaning of the mouse on the displayed screen.
extension Frame {
  /// The size of a character in points, roughly: swipes are measured in points.
  private static let (columnPoints, rowPoints) = (8.0, 16.0)

  /// The event of a gesture; nil for none.
  package func event(for gesture: MouseGesture) -> SlideshowEvent? {
    // As in a window, a click beside a title that is being edited keeps it.
    if let draft = state.draft {
      if case .click = gesture { return .command(.keepTitle(draft.text)) }
      return nil
    }
    switch gesture {
    case .wheelUp: return .key(.up)
    case .wheelDown: return .key(.down)
    case .drag(let from, let to):
      guard state.tab == .present, state.panel == nil else { return nil }
      return .swipe(
        x: Double(to.column - from.column) * Self.columnPoints, y: Double(to.row - from.row) * Self.rowPoints)
    case .click(let count, let cell): return click(count, cell)
    }
  }

  private func click(_ count: Int, _ cell: Cell) -> SlideshowEvent? {
    if !state.isFullScreen, cell.row == 0 { return header(cell.column) }
    if state.panel != nil { return .command(.panel(nil)) }
    if isList { return list(count, cell) }
    guard state.tab == .present, !state.slides.isEmpty else { return nil }
    if state.isFullScreen { return picture(count, cell) }
    // The heart and the space after it.
    let isHeart = cell.row == room + 1 && captionColumns.prefix(2).contains(cell.column)
    if isHeart { return .command(.toggleFavorite(nil)) }
    return cell.row <= room + 1 ? picture(count, cell) : nil
  }

  private func picture(_ count: Int, _ cell: Cell) -> SlideshowEvent {
    .click(count, at: (Double(cell.column) + 0.5) / Double(columns))
  }

  private func header(_ column: Int) -> SlideshowEvent {
    if Frame.tabColumns.manage.contains(column) { return .command(.show(.manage)) }
    if Frame.tabColumns.present.contains(column) { return .command(.show(.present)) }
    return .command(.beginTitle)
  }

  /// A click selects the slide, a second one shows it.
  private func list(_ count: Int, _ cell: Cell) -> SlideshowEvent? {
    guard cell.row <= room, let found = SlideRows(self).slide(at: cell.row - 1, column: cell.column) else { return nil }
    if found.isHeart { return .command(.toggleFavorite(found.slide.id)) }
    return .command(count == 1 ? .select(found.slide.id) : .open(found.slide.id))
  }
}
