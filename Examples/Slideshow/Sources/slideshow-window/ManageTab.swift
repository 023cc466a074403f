import CGTK
import SlideshowModel

/// The Manage tab: the slideshow's title in an editable field, and the list of the slides.
@MainActor
final class ManageTab {
  private let tell: @MainActor (SlideshowEvent) -> Void
  private let title: Widget
  private let listing: Widget
  private let list: Widget
  private let hint: Widget
  private var slides: [Slide] = []
  private var rows: [Row] = []
  private var isDrawing = false
  private var isEditing = false

  private struct Row {
    let root: Widget
    let heart: Widget
    let title: Widget
    let outcome: Widget
    let thumbnail: Widget
    /// The request of the displayed thumbnail, so that the same pixels are not set again.
    var request: PictureRequest?
  }

  init(_ builder: Builder, tell: @escaping @MainActor (SlideshowEvent) -> Void) {
    self.tell = tell
    title = builder["title"]
    listing = builder["listing"]
    list = builder["list"]
    hint = builder["listHint"]
    watchTitle()
    watchList()
  }

  /// Sets the focus to the title while it is edited, otherwise to the list.
  func focus() {
    if isEditing {
      title.focus()
    } else if let row = gtk_list_box_get_selected_row(list.opaque) {
      gtk_widget_grab_focus(UnsafeMutableRawPointer(row).assumingMemoryBound(to: GtkWidget.self))
    } else {
      list.focus()
    }
  }

  func draw(_ state: SlideshowState) {
    isDrawing = true
    defer { isDrawing = false }
    drawTitle(state)
    listing.show(state.slides.isEmpty ? "hint" : "list")
    hint.setText(state.hint?.joined(separator: "\n\n") ?? "")
    if state.slides != slides { makeRows(state.slides) }
    for (index, slide) in state.slides.enumerated() {
      rows[index].heart.draw(heart: state.isFavorite(slide))
      rows[index].outcome.setText(state.outcome(of: slide))
      draw(state.thumbnails[slide.id], at: index)
    }
    select(state.index)
  }

  // MARK: - The title

  private func watchTitle() {
    Signal.connect(title.opaque, "activate") { [self] in tell(.command(.keepTitle(text))) }
    let focus: OpaquePointer = gtk_event_controller_focus_new()
    Signal.connect(focus, "enter") { [self] in
      if !isEditing { tell(.command(.beginTitle)) }
    }
    Signal.connect(focus, "leave") { [self] in
      // GTK selects the text of an entry that gets the focus, and does not undo this.
      gtk_editable_select_region(title.opaque, 0, 0)
      if isEditing { tell(.command(.keepTitle(text))) }
    }
    title.add(focus)
  }

  private var text: String { String(cString: gtk_editable_get_text(title.opaque)) }

  private func drawTitle(_ state: SlideshowState) {
    let wasEditing = isEditing
    isEditing = state.draft != nil
    // While it is edited, only the user changes it.
    if !isEditing, text != state.title { gtk_editable_set_text(title.opaque, state.title) }
    if isEditing != wasEditing, state.tab == .manage { focus() }
  }

  // MARK: - The list

  private func watchList() {
    Signal.connect(list.opaque, "row-selected") { [self] in
      guard !isDrawing, let slide = selected else { return }
      tell(.command(.select(slide.id)))
    }
    Signal.connect(list.opaque, "row-activated") { [self] in
      guard let slide = selected else { return }
      tell(.command(.open(slide.id)))
    }
  }

  private var selected: Slide? {
    guard let row = gtk_list_box_get_selected_row(list.opaque) else { return nil }
    let index = Int(gtk_list_box_row_get_index(row))
    return slides.indices.contains(index) ? slides[index] : nil
  }

  private func makeRows(_ slides: [Slide]) {
    for row in rows { gtk_list_box_remove(list.opaque, row.root.pointer) }
    self.slides = slides
    rows = slides.map { slide in Builder.build(WindowLayout.row) { makeRow(slide, $0) } }
  }

  private func makeRow(_ slide: Slide, _ builder: Builder) -> Row {
    let row = Row(
      root: builder["row"], heart: builder["heart"], title: builder["title"], outcome: builder["outcome"],
      thumbnail: builder["thumbnail"])
    row.title.setText(slide.title)
    row.root.setAccessibleLabel(slide.title)
    row.heart.onClick { [tell] in tell(.command(.toggleFavorite(slide.id))) }
    gtk_list_box_append(list.opaque, row.root.pointer)
    return row
  }

  private func draw(_ thumbnail: SlideshowState.Thumbnail?, at index: Int) {
    guard thumbnail?.request != rows[index].request else { return }
    rows[index].request = thumbnail?.request
    if let bitmap = thumbnail?.bitmap {
      rows[index].thumbnail.show(bitmap)
    } else {
      rows[index].thumbnail.clearPicture()
    }
  }

  private func select(_ index: Int) {
    guard rows.indices.contains(index) else { return }
    let row: UnsafeMutablePointer<GtkListBoxRow> = rows[index].root.cast()
    guard gtk_list_box_get_selected_row(list.opaque) != row else { return }
    gtk_list_box_select_row(list.opaque, row)
    if gtk_widget_get_mapped(list.pointer) != 0, !isEditing { gtk_widget_grab_focus(rows[index].root.pointer) }
  }
}
